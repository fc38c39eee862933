//! A report as JUnit XML, which most CI systems show: a suite per phase, a case per step.

use std::collections::HashMap;
use std::fmt::Write;

use super::markup::escape;
use super::{PhaseRow, Report};
use crate::decision::StepOrHook;
use crate::response::Status;
use crate::run::{Attempt, PhaseStatus, RunStatus};

impl Report {
    pub fn junit(&self) -> String {
        let mut judged: HashMap<&str, &Attempt> = HashMap::new();
        let mut hooks: HashMap<&str, Vec<&str>> = HashMap::new();
        for attempt in self.attempts.iter().filter(|attempt| attempt.judged) {
            let before = judged.insert(&attempt.task, attempt);
            if before.is_none() && attempt.kind == StepOrHook::Hook {
                hooks.entry(&attempt.phase).or_default().push(&attempt.task);
            }
        }
        let mut suites: Vec<Suite> = self
            .phases
            .iter()
            .map(|row| {
                let hooks = hooks.get(row.name.as_str()).into_iter().flatten().copied();
                let cases = hooks.chain(row.step_ids.iter().map(String::as_str));
                suite(row, cases.map(|id| (id, judged.get(id).copied())))
            })
            .collect();

        if self.status == RunStatus::Failed && suites.iter().all(|suite| suite.failures == 0) {
            suites.push(stop(self));
        }
        let sum = |count: fn(&Suite) -> u64| suites.iter().map(count).sum::<u64>();
        let (tests, failures) = (sum(|suite| suite.tests), sum(|suite| suite.failures));
        // As CI systems want it: without a zone, in UTC.
        let timestamp = self.started_at.strftime("%Y-%m-%dT%H:%M:%SZ");
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let (name, time) = (escape(&self.workflow), seconds(self.duration_ms));
        let _ = writeln!(
            out,
            r#"<testsuites name="{name}" tests="{tests}" failures="{failures}" errors="0" time="{time}">"#
        );
        for suite in suites {
            let Suite { name, tests, failures, skipped, ms, cases } = suite;
            let (name, time) = (escape(&name), seconds(ms));
            let _ = writeln!(
                out,
                r#"  <testsuite name="{name}" tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}" time="{time}" timestamp="{timestamp}">"#
            );
            out.push_str(&cases);
            out.push_str("  </testsuite>\n");
        }
        out.push_str("</testsuites>\n");
        out
    }
}

struct Suite {
    name: String,
    tests: u64,
    failures: u64,
    skipped: u64,
    ms: u64,
    /// Its elements, written already.
    cases: String,
}

fn suite<'r>(row: &PhaseRow, cases: impl Iterator<Item = (&'r str, Option<&'r Attempt>)>) -> Suite {
    let mut suite =
        Suite { name: row.name.clone(), tests: 0, failures: 0, skipped: 0, ms: 0, cases: String::new() };
    let class = escape(&row.name);
    for (id, attempt) in cases {
        suite.tests += 1;
        let name = escape(id);
        let ms = attempt.map_or(0, |attempt| attempt.duration_ms);
        suite.ms = suite.ms.saturating_add(ms);
        let out = &mut suite.cases;
        let _ = write!(out, r#"    <testcase name="{name}" classname="{class}" time="{}""#, seconds(ms));
        match attempt {
            None => {
                suite.skipped += 1;
                let why = if row.status == PhaseStatus::Skipped { "skipped" } else { "not run" };
                let _ = write!(out, ">\n      <skipped message=\"{why}\"/>\n    </testcase>\n");
            }
            Some(attempt) => suite.failures += u64::from(case(out, attempt)),
        }
    }
    suite
}

/// Warnings or a limit can stop a run in which no step failed; its CI must not be green.
fn stop(report: &Report) -> Suite {
    let reason = escape(report.reason.as_deref().unwrap_or("failed")).replace('\n', " ");
    let cases = format!(
        "    <testcase name=\"policy\" classname=\"run\" time=\"0.000\">\n      \
         <failure message=\"{reason}\" type=\"policy\"/>\n    </testcase>\n"
    );
    Suite { name: "run".to_owned(), tests: 1, failures: 1, skipped: 0, ms: 0, cases }
}

/// The rest of a case whose step was tried; whether it failed.
fn case(out: &mut String, attempt: &Attempt) -> bool {
    let response = &attempt.response;
    let failed = response.status == Status::Failure || !response.errors.is_empty();
    if !failed && response.warnings.is_empty() && response.message.is_none() {
        out.push_str("/>\n");
        return failed;
    }
    out.push_str(">\n");
    if failed {
        let first = response.errors.first();
        let message = first.map(|error| error.text.as_str()).or(response.message.as_deref());
        let message = escape(message.unwrap_or("failed")).replace('\n', " ");
        let kind = first.map_or("failure", |error| error.category.name());
        let _ =
            write!(out, r#"      <failure message="{message}" type="{}">"#, escape(kind).replace('\n', " "));
        let mut lines: Vec<String> = response.errors.iter().map(line).collect();
        lines
            .extend(response.error_analysis.iter().map(|analysis| format!("Analysis: {}", escape(analysis))));
        let _ = writeln!(out, "{}</failure>", lines.join("\n"));
    }
    let mut lines: Vec<String> = response.message.iter().map(|message| escape(message)).collect();
    lines.extend(response.warnings.iter().map(|warning| format!("Warning {}", line(warning))));
    lines.extend(response.warning_analysis.iter().map(|analysis| format!("Analysis: {}", escape(analysis))));
    if !lines.is_empty() {
        let _ = writeln!(out, "      <system-out>{}</system-out>", lines.join("\n"));
    }
    out.push_str("    </testcase>\n");
    failed
}

/// `[high] [security] The token is in the log`
fn line(finding: &crate::finding::Finding) -> String {
    let (severity, category) = (finding.severity, escape(finding.category.name()));
    let fix = finding.suggested_fix.as_ref().map(|fix| format!("\n  Fix: {}", escape(&fix.description)));
    format!("[{severity}] [{category}] {}{}", escape(&finding.text), fix.unwrap_or_default())
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}
