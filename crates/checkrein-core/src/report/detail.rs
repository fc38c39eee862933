//! What the detailed report has more: every attempt, what it said, how long it took.

use super::layout::Canvas;
use super::text::branch;
use super::{Report, wording};
use crate::response::Status;
use crate::run::Attempt;

/// Where the details of an attempt begin.
const BELOW: usize = 3;

pub(super) fn steps(canvas: &mut Canvas, report: &Report) {
    if report.attempts.is_empty() {
        return;
    }
    canvas.section("STEP DETAILS");
    canvas.blank();
    for attempt in &report.attempts {
        step(canvas, attempt);
        canvas.blank();
    }
}

fn step(canvas: &mut Canvas, attempt: &Attempt) {
    let response = &attempt.response;
    let mark = match response.status {
        Status::Success => canvas.glyphs.good,
        Status::Warning => canvas.glyphs.warned,
        Status::Failure => canvas.glyphs.failed,
    };
    let mut head = canvas.safe_line(&attempt.task).into_owned();
    match (attempt.attempt, attempt.judged) {
        (1, true) => {}
        (number, true) => head.push_str(&format!(" (attempt {number})")),
        (number, false) => head.push_str(&format!(" (attempt {number}, not the last)")),
    }
    // Several attempts in one response share its time, which is told with the last.
    if attempt.judged {
        head.push_str(&format!(", {}", wording::duration(attempt.duration_ms)));
    }
    if let Some(code) = attempt.exit_code.filter(|code| *code != 0) {
        head.push_str(&format!(", exit code {code}"));
    }
    canvas.hang(0, mark, &head);
    if let Some(message) = &response.message {
        canvas.put(BELOW, &canvas.safe(message));
    }
    // Those of an attempt that is judged stand in the sections above.
    for finding in response.findings().filter(|_| !attempt.judged) {
        let about = canvas.safe_line(finding.category.name()).into_owned();
        branch(canvas, &format!("{} [{}] [{about}]", finding.kind, finding.severity), &finding.text);
    }
    for note in &response.notes {
        branch(canvas, "Note", note);
    }
    if let Some(output) = &attempt.output {
        branch(canvas, "Output", output);
    }
    if let Some(details) = &response.details {
        canvas.hang(BELOW, canvas.glyphs.branch, "Details:");
        let pretty = serde_json::to_string_pretty(details).unwrap_or_default();
        canvas.put(2 * BELOW, &canvas.safe(&pretty));
    }
}
