//! A report as Markdown, for comments on a pull request and job summaries.

use std::fmt::Write;

use super::layout::safe;
use super::{Noted, Report, wording};
use crate::finding::FindingKind;
use crate::run::PhaseStatus;

impl Report {
    /// The sections of the summary in their order.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n\n", self.of.title());
        header(&mut out, self);
        phases(&mut out, self);
        for kind in [FindingKind::Warning, FindingKind::Error] {
            by_step(&mut out, self, kind);
            by_category(&mut out, self, kind);
        }
        actions(&mut out, self);
        if !self.artifacts.is_empty() {
            out.push_str("\n## Artifacts\n\n");
            for artifact in &self.artifacts {
                let _ = writeln!(out, "- {}", code(&wording::artifact(artifact)));
            }
        }
        out
    }
}

fn header(out: &mut String, report: &Report) {
    let work_item = report.work_id.as_deref().map(wording::work_item);
    let used = report.spent.and_then(wording::used);
    for (name, value) in [
        ("Target", report.target.as_deref()),
        ("Work Item", work_item.as_deref()),
        ("Duration", Some(&*wording::duration(report.duration_ms))),
        ("Status", Some(wording::status(report.status))),
        ("Used", used.as_deref()),
        ("Reason", report.reason.as_deref()),
        ("Run", Some(&*report.run)),
    ] {
        if let Some(value) = value {
            let _ = writeln!(out, "- **{name}:** {}", words(value));
        }
    }
}

fn phases(out: &mut String, report: &Report) {
    if report.phases.is_empty() {
        return;
    }
    out.push_str("\n## Phase summary\n\n| | Phase | Steps and findings |\n|---|---|---|\n");
    for row in &report.phases {
        let icon = match row.status {
            PhaseStatus::Skipped => "⏭",
            PhaseStatus::Failure => "❌",
            _ if row.unfinished => "⏸",
            PhaseStatus::NotRun => "·",
            PhaseStatus::Warning => "⚠️",
            PhaseStatus::Success => "✅",
        };
        let name = words(&wording::capitalised(&row.name));
        let _ = writeln!(out, "| {icon} | {name} | {} |", wording::phase(row));
    }
}

fn by_step(out: &mut String, report: &Report, kind: FindingKind) {
    let found = report.by_step(kind);
    let not_kept = report.not_kept(kind);
    if found.is_empty() && not_kept.is_none() {
        return;
    }
    let count = (found.len() as u64).saturating_add(report.truncated.of(kind));
    let _ = writeln!(out, "\n## {} by phase/step ({count})\n", wording::capitalised(kind.plural()));
    for noted in found {
        finding(out, noted);
    }
    if let Some(not_kept) = not_kept {
        let _ = writeln!(out, "- … {not_kept}");
    }
}

fn finding(out: &mut String, noted: &Noted) {
    let attempt = if noted.attempt > 1 { format!(" (attempt {})", noted.attempt) } else { String::new() };
    let (severity, category) = (noted.finding.severity, words(noted.finding.category.name()));
    let task = words(&noted.task);
    let _ = writeln!(
        out,
        "- **{task}**{attempt} \\[{severity}\\] \\[{category}\\]<br>{}",
        words(&noted.finding.text)
    );
    if let Some(analysis) = &noted.analysis {
        let _ = writeln!(out, "  - Analysis: {}", words(analysis));
    }
    if let Some(fix) = &noted.finding.suggested_fix {
        let _ = writeln!(out, "  - Fix: {}", words(&fix.description));
    }
}

fn by_category(out: &mut String, report: &Report, kind: FindingKind) {
    let found = report.by_category(kind);
    if found.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## {} by category\n", wording::capitalised(kind.plural()));
    for entry in found {
        let tasks: Vec<String> = entry
            .tasks
            .iter()
            .map(|(task, count)| match count {
                1 => words(task),
                count => format!("{} ×{count}", words(task)),
            })
            .collect();
        let category = words(entry.category.name());
        let _ = writeln!(out, "- {category} ({}): {}", entry.count, tasks.join(", "));
    }
}

fn actions(out: &mut String, report: &Report) {
    if report.remedies.is_empty() {
        return;
    }
    out.push_str("\n## Recommended actions\n\n");
    for (number, remedy) in (1_usize..).zip(&report.remedies) {
        let _ = writeln!(out, "{number}. {}", words(&wording::action(remedy)));
        for (name, value) in [("Command", &remedy.command), ("File", &remedy.file)] {
            if let Some(value) = value {
                let _ = writeln!(out, "   - {name}: {}", code(value));
            }
        }
    }
}

/// Text of others with nothing in it that Markdown or HTML takes for its own.
fn words(text: &str) -> String {
    let text = safe(text, true);
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' => out.push_str("<br>"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '+' | '!' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A span of code; its fence is longer than any run of the same sign in it.
fn code(text: &str) -> String {
    let text = safe(text, true).replace('\n', " ");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    format!("{fence} {text} {fence}")
}
