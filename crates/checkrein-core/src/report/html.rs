//! A report as one HTML file that needs nothing else: no network, no other file, and for its first page
//! not even its own script.
//!
//! Findings are data inside the page, and the script draws a page of them at a time, so that the file
//! stays quick with any number of them. The browser is told to run this script and nothing else.

use std::collections::HashMap;
use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::layout::safe;
use super::markup::escape;
use super::{Noted, Report, wording};
use crate::finding::{FindingKind, Severity};
use crate::response::Status;
use crate::run::PhaseStatus;

const CSS: &str = include_str!("html.css");
const SCRIPT: &str = include_str!("html.js");

/// Findings that are in the page without its script, and how many more the script draws at a time.
const PAGE: usize = 200;

/// Bars of a chart; the rest is added up in one.
const BARS_MAX: usize = 20;

impl Report {
    pub fn html(&self) -> String {
        let mut found = self.by_step(FindingKind::Error);
        found.extend(self.by_step(FindingKind::Warning));
        let mut out = String::with_capacity(16_384 + found.len() * 256);
        head(&mut out, self);
        phases(&mut out, self);
        charts(&mut out, self);
        findings(&mut out, self, &found);
        actions(&mut out, self);
        attempts(&mut out, self);
        artifacts(&mut out, self);
        out.push_str("</main>\n");
        if !found.is_empty() {
            let _ = write!(out, "<script type=\"application/json\" id=\"data\">");
            data(&mut out, self, &found);
            let _ = write!(out, "</script>\n<script>{SCRIPT}</script>\n");
        }
        out.push_str("</body>\n</html>\n");
        out
    }
}

fn head(out: &mut String, report: &Report) {
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())));
    let (css, script) = (hash(CSS), hash(SCRIPT));
    let heading = report.of.title();
    let title = escape(report.target.as_deref().unwrap_or(&report.workflow));
    let _ = write!(
        out,
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src {css}; script-src {script}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{heading}: {title}</title>
<style>{CSS}</style>
</head>
<body>
<main>
<h1>{heading}</h1>
<dl>
"#
    );
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
        ("Workflow", Some(&*report.workflow)),
    ] {
        if let Some(value) = value {
            let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(value));
        }
    }
    out.push_str("</dl>\n");
}

fn phases(out: &mut String, report: &Report) {
    if report.phases.is_empty() {
        return;
    }
    out.push_str("<h2>Phase summary</h2>\n<table>\n");
    for row in &report.phases {
        let (class, word) = match row.status {
            PhaseStatus::Skipped => ("soft", "skipped"),
            PhaseStatus::Failure => ("failure", "failed"),
            _ if row.unfinished => ("soft", "unfinished"),
            PhaseStatus::NotRun => ("soft", "not run"),
            PhaseStatus::Warning => ("warning", "warnings"),
            PhaseStatus::Success => ("success", "success"),
        };
        let name = escape(&wording::capitalised(&row.name));
        let said = wording::phase(row);
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{name}</th><td class=\"{class}\">{word}</td><td>{said}</td></tr>"
        );
    }
    out.push_str("</table>\n");
}

/// A bar: its name, warnings, errors.
type Bar<'r> = (&'r str, u64, u64);

fn charts(out: &mut String, report: &Report) {
    let (warnings, errors) = (report.totals(FindingKind::Warning), report.totals(FindingKind::Error));
    if warnings.total() == 0 && errors.total() == 0 {
        return;
    }
    out.push_str("<h2>Findings</h2>\n<div class=\"charts\">\n");
    let phases = report.phases.iter();
    chart(
        out,
        "By phase",
        phases.map(|row| (row.name.as_str(), row.warnings.total(), row.errors.total())).collect(),
    );
    let severities = Severity::ALL.into_iter().rev();
    chart(
        out,
        "By severity",
        severities.map(|severity| (severity.name(), warnings.of(severity), errors.of(severity))).collect(),
    );
    let mut categories: Vec<Bar<'_>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for kind in [FindingKind::Warning, FindingKind::Error] {
        for entry in report.by_category(kind) {
            let name = entry.category.name();
            let next = categories.len();
            let place = *places.entry(name).or_insert(next);
            if place == next {
                categories.push((name, 0, 0));
            }
            match (categories.get_mut(place), kind) {
                (Some(bar), FindingKind::Warning) => bar.1 = entry.count,
                (Some(bar), FindingKind::Error) => bar.2 = entry.count,
                (None, _) => {}
            }
        }
    }
    categories.sort_by_key(|(_, warnings, errors)| std::cmp::Reverse(warnings + errors));
    chart(out, "By category", categories);
    out.push_str("</div>\n");
}

/// Horizontal bars: errors, then warnings, then the numbers.
fn chart(out: &mut String, title: &str, mut bars: Vec<Bar<'_>>) {
    const ROW: usize = 26;
    const LABEL: usize = 130;
    const BAR: u64 = 190;
    const LABEL_CHARS_MAX: usize = 17;
    if bars.len() > BARS_MAX {
        let rest = bars.split_off(BARS_MAX - 1);
        let sum = rest.iter().fold((0, 0), |(w, e), (_, warnings, errors)| (w + warnings, e + errors));
        bars.push(("all others", sum.0, sum.1));
    }
    let most = bars.iter().map(|(_, warnings, errors)| warnings + errors).max().unwrap_or(0).max(1);
    let height = bars.len() * ROW;
    let _ = writeln!(
        out,
        "<figure><figcaption>{title}</figcaption><svg viewBox=\"0 0 420 {height}\" role=\"img\" aria-label=\"{title}\">"
    );
    for (index, (name, warnings, errors)) in bars.into_iter().enumerate() {
        let scaled = |count: u64| u128::from(count) * u128::from(BAR) / u128::from(most);
        let (red, amber) = (scaled(errors), scaled(warnings));
        let (top, base) = (index * ROW + 4, index * ROW + 18);
        let mut label: String = name.chars().take(LABEL_CHARS_MAX).collect();
        if name.chars().nth(LABEL_CHARS_MAX).is_some() {
            label.push('…');
        }
        let numbers = match (warnings, errors) {
            (0, 0) => "0".to_owned(),
            (warnings, 0) => warnings.to_string(),
            (0, errors) => errors.to_string(),
            (warnings, errors) => format!("{errors} + {warnings}"),
        };
        let said = format!(
            "{name}: {}, {}",
            wording::count(errors, FindingKind::Error),
            wording::count(warnings, FindingKind::Warning)
        );
        let _ = writeln!(
            out,
            "<g><title>{}</title><text x=\"0\" y=\"{base}\">{}</text>\
             <rect class=\"error\" x=\"{LABEL}\" y=\"{top}\" width=\"{red}\" height=\"18\"/>\
             <rect class=\"warning\" x=\"{}\" y=\"{top}\" width=\"{amber}\" height=\"18\"/>\
             <text x=\"{}\" y=\"{base}\">{numbers}</text></g>",
            escape(&said),
            escape(&label),
            LABEL as u128 + red,
            LABEL as u128 + red + amber + 6,
        );
    }
    out.push_str("</svg></figure>\n");
}

fn findings(out: &mut String, report: &Report, found: &[&Noted]) {
    for kind in [FindingKind::Warning, FindingKind::Error] {
        if let Some(not_kept) = report.not_kept(kind) {
            let _ = writeln!(out, "<p class=\"soft\">… {not_kept}</p>");
        }
    }
    if found.is_empty() {
        return;
    }
    out.push_str(
        r#"<h2>By phase and step</h2>
<form id="filter" hidden>
<input id="words" type="search" placeholder="Search findings" aria-label="Search findings">
<select id="kind" aria-label="Kind"><option value="">Warnings and errors</option><option value="0">Warnings</option><option value="1">Errors</option></select>
<select id="severity" aria-label="Severity"><option value="">Any severity</option><option value="2">high</option><option value="1">medium</option><option value="0">low</option></select>
<select id="category" aria-label="Category"><option value="">Any category</option></select>
<select id="phase" aria-label="Phase"><option value="">Any phase</option></select>
</form>
<table>
<thead><tr><th scope="col">Kind</th><th scope="col">Severity</th><th scope="col">Category</th><th scope="col">Step</th><th scope="col">Finding</th></tr></thead>
<tbody id="rows">
"#,
    );
    for noted in found.iter().take(PAGE) {
        let finding = &noted.finding;
        let kind = kind_name(finding.kind);
        let attempt = if noted.attempt > 1 { format!(" (attempt {})", noted.attempt) } else { String::new() };
        let _ = write!(
            out,
            "<tr><td class=\"{kind}\">{kind}</td><td>{}</td><td>{}</td><td>{}{attempt}</td><td><p>{}</p>",
            finding.severity,
            escape(finding.category.name()),
            escape(&noted.task),
            escape(&finding.text),
        );
        if let Some(analysis) = &noted.analysis {
            let _ = write!(out, "<p>Analysis: {}</p>", escape(analysis));
        }
        if let Some(fix) = &finding.suggested_fix {
            let _ = write!(out, "<p>Fix: {}</p>", escape(&fix.description));
            for (name, value) in [("Command", &fix.command), ("File", &fix.file)] {
                if let Some(value) = value {
                    let _ = write!(out, "<p>{name}: <code>{}</code></p>", escape(value));
                }
            }
        }
        out.push_str("</td></tr>\n");
    }
    let shown = found.len().min(PAGE);
    let _ = write!(
        out,
        "</tbody>\n</table>\n<p class=\"soft\"><span id=\"shown\" role=\"status\">{shown} of {} shown</span> \
         <button type=\"button\" id=\"more\" hidden>Show more</button></p>\n",
        found.len()
    );
    if found.len() > PAGE {
        out.push_str(
            "<noscript><p class=\"soft\">The others are shown where scripts may run.</p></noscript>\n",
        );
    }
}

const fn kind_name(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Warning => "warning",
        FindingKind::Error => "error",
    }
}

/// What the script reads: words that come again and again are kept once, rows point at them.
#[derive(Serialize)]
struct Data<'r> {
    kinds: [&'static str; 2],
    severities: [&'static str; 3],
    categories: Words<'r>,
    phases: Words<'r>,
    steps: Words<'r>,
    analyses: Words<'r>,
    rows: Vec<Row<'r>>,
}

/// Kind, severity, category, phase, step, attempt, text, analysis, fix, command, file.
#[derive(Serialize)]
struct Row<'r>(
    usize,
    usize,
    usize,
    usize,
    usize,
    u32,
    std::borrow::Cow<'r, str>,
    Option<usize>,
    Option<std::borrow::Cow<'r, str>>,
    Option<std::borrow::Cow<'r, str>>,
    Option<std::borrow::Cow<'r, str>>,
);

#[derive(Default)]
struct Words<'r> {
    places: HashMap<&'r str, usize>,
    words: Vec<std::borrow::Cow<'r, str>>,
}

impl<'r> Words<'r> {
    fn place(&mut self, word: &'r str) -> usize {
        *self.places.entry(word).or_insert_with(|| {
            self.words.push(safe(word, true));
            self.words.len() - 1
        })
    }
}

impl Serialize for Words<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.words.serialize(serializer)
    }
}

fn data(out: &mut String, report: &Report, found: &[&Noted]) {
    let mut data = Data {
        kinds: ["warning", "error"],
        severities: Severity::ALL.map(Severity::name),
        categories: Words::default(),
        phases: Words::default(),
        steps: Words::default(),
        analyses: Words::default(),
        rows: Vec::with_capacity(found.len()),
    };
    // In the order they run, as they are offered.
    for row in &report.phases {
        data.phases.place(&row.name);
    }
    for noted in found {
        let finding = &noted.finding;
        let fix = finding.suggested_fix.as_ref();
        let row = Row(
            usize::from(finding.kind == FindingKind::Error),
            Severity::ALL.iter().position(|severity| *severity == finding.severity).unwrap_or(0),
            data.categories.place(finding.category.name()),
            data.phases.place(&noted.phase),
            data.steps.place(&noted.task),
            noted.attempt,
            safe(&finding.text, true),
            noted.analysis.as_deref().map(|analysis| data.analyses.place(analysis)),
            fix.map(|fix| safe(&fix.description, true)),
            fix.and_then(|fix| fix.command.as_deref()).map(|command| safe(command, true)),
            fix.and_then(|fix| fix.file.as_deref()).map(|file| safe(file, true)),
        );
        data.rows.push(row);
    }
    let json = serde_json::to_string(&data).unwrap_or_else(|_| "{}".to_owned());
    // A text that speaks of `</script>` must not end the element; the sign stands in texts alone.
    for part in json.split_inclusive('<') {
        match part.strip_suffix('<') {
            Some(before) => {
                out.push_str(before);
                out.push_str("\\u003c");
            }
            None => out.push_str(part),
        }
    }
}

fn actions(out: &mut String, report: &Report) {
    if report.remedies.is_empty() {
        return;
    }
    out.push_str("<h2>Recommended actions</h2>\n<ol>\n");
    for remedy in report.remedies.iter().take(PAGE) {
        let _ = write!(out, "<li>{}", escape(&wording::action(remedy)));
        for (name, value) in [("Command", &remedy.command), ("File", &remedy.file)] {
            if let Some(value) = value {
                let _ = write!(out, "<br>{name}: <code>{}</code>", escape(value));
            }
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ol>\n");
    left_out(out, report.remedies.len(), "actions");
}

fn attempts(out: &mut String, report: &Report) {
    if report.attempts.is_empty() {
        return;
    }
    out.push_str("<h2>Step details</h2>\n<table>\n");
    for attempt in report.attempts.iter().take(PAGE) {
        let response = &attempt.response;
        let (class, word) = match response.status {
            Status::Success => ("success", "success"),
            Status::Warning => ("warning", "warnings"),
            Status::Failure => ("failure", "failed"),
        };
        let number = match (attempt.attempt, attempt.judged) {
            (1, true) => String::new(),
            (number, true) => format!(" (attempt {number})"),
            (number, false) => format!(" (attempt {number}, not the last)"),
        };
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}{number}</th><td class=\"{class}\">{word}</td><td>{}</td><td>",
            escape(&attempt.task),
            wording::duration(attempt.duration_ms),
        );
        if let Some(message) = &response.message {
            let _ = write!(out, "<p>{}</p>", escape(message));
        }
        if let Some(details) = &response.details {
            let pretty = serde_json::to_string_pretty(details).unwrap_or_default();
            let _ =
                write!(out, "<details><summary>Details</summary><pre>{}</pre></details>", escape(&pretty));
        }
        out.push_str("</td></tr>\n");
    }
    out.push_str("</table>\n");
    left_out(out, report.attempts.len(), "attempts");
}

fn artifacts(out: &mut String, report: &Report) {
    if report.artifacts.is_empty() {
        return;
    }
    out.push_str("<h2>Artifacts</h2>\n<ul>\n");
    for artifact in report.artifacts.iter().take(PAGE) {
        let _ = writeln!(out, "<li><code>{}</code></li>", escape(&wording::artifact(artifact)));
    }
    out.push_str("</ul>\n");
    left_out(out, report.artifacts.len(), "artifacts");
}

fn left_out(out: &mut String, count: usize, what: &str) {
    if let Some(more) = count.checked_sub(PAGE).filter(|more| *more > 0) {
        let _ = writeln!(out, "<p class=\"soft\">… {more} more {what} are in the JSON report.</p>");
    }
}
