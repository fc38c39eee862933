//! A report for the terminal: one box, sections in one order, empty ones left out (W16, X16).

use schemars::JsonSchema;
use serde::Deserialize;
use unicode_width::UnicodeWidthStr;

use super::layout::{Canvas, Style};
use super::{Noted, PhaseRow, Report, detail, wording};
use crate::finding::FindingKind;
use crate::run::PhaseStatus;

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ReportFormat")]
pub enum Format {
    #[default]
    Summary,
    /// Also what each attempt said, how long it took, and its details.
    Detailed,
    /// Phases and totals alone.
    Minimal,
}

impl Format {
    pub const ALL: [Format; 3] = [Format::Summary, Format::Detailed, Format::Minimal];

    pub const fn name(self) -> &'static str {
        match self {
            Format::Summary => "summary",
            Format::Detailed => "detailed",
            Format::Minimal => "minimal",
        }
    }

    pub fn parse(word: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| word.trim().eq_ignore_ascii_case(format.name()))
    }
}

impl Report {
    /// Everything up to the question which of the actions to take.
    ///
    /// The detailed form has a section more, STEP DETAILS, between the actions and the artifacts.
    pub fn text(&self, format: Format, style: Style) -> String {
        let mut canvas = Canvas::new(&self.of.title().to_uppercase(), style);
        header(&mut canvas, self);
        phases(&mut canvas, self);
        if format == Format::Minimal {
            totals(&mut canvas, self);
            return canvas.finish();
        }
        for kind in [FindingKind::Warning, FindingKind::Error] {
            by_step(&mut canvas, self, kind);
            by_category(&mut canvas, self, kind);
        }
        actions(&mut canvas, self);
        if format == Format::Detailed {
            detail::steps(&mut canvas, self);
        }
        artifacts(&mut canvas, self);
        canvas.finish()
    }
}

/// Cuts text into pages of so many lines; the last one may be shorter.
pub fn pages(text: &str, lines_per_page: usize) -> Vec<&str> {
    let mut pages = Vec::new();
    let (mut begin, mut end, mut lines) = (0, 0, 0);
    for line in text.split_inclusive('\n') {
        end += line.len();
        lines += 1;
        if lines == lines_per_page.max(1) {
            pages.extend(text.get(begin..end));
            (begin, lines) = (end, 0);
        }
    }
    pages.extend(text.get(begin..end).filter(|page| !page.is_empty()));
    pages
}

fn header(canvas: &mut Canvas, report: &Report) {
    let target = report.target.as_deref();
    let work_item = report.work_id.as_deref().map(wording::work_item);
    let used = report.spent.and_then(wording::used);
    let rows = [
        ("Target", target),
        ("Work Item", work_item.as_deref()),
        ("Duration", Some(&*wording::duration(report.duration_ms))),
        ("Status", Some(wording::status(report.status))),
        ("Used", used.as_deref()),
        ("Reason", report.reason.as_deref()),
        ("Run", Some(&*report.run)),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            let text = format!("{name}: {}", canvas.safe_line(value));
            canvas.put(0, &text);
        }
    }
}

/// Names that are longer do not push all others aside.
const NAME_PADDED_MAX: usize = 24;

fn phases(canvas: &mut Canvas, report: &Report) {
    if report.phases.is_empty() {
        return;
    }
    canvas.section("PHASE SUMMARY");
    let names: Vec<String> =
        report.phases.iter().map(|row| wording::capitalised(&canvas.safe_line(&row.name))).collect();
    let widths = names.iter().map(|name| name.width()).filter(|width| *width <= NAME_PADDED_MAX);
    let column = widths.max().unwrap_or(0) + 2;
    for (row, name) in report.phases.iter().zip(&names) {
        let padding = " ".repeat(column.saturating_sub(name.width()).max(2));
        let mark = icon(canvas, row);
        canvas.hang(0, mark, &format!("{name}{padding}{}", wording::phase(row)));
    }
    canvas.blank();
}

fn icon(canvas: &Canvas, row: &PhaseRow) -> &'static str {
    match row.status {
        PhaseStatus::Skipped => canvas.glyphs.skipped,
        PhaseStatus::Failure => canvas.glyphs.failed,
        _ if row.unfinished => canvas.glyphs.unfinished,
        PhaseStatus::NotRun => canvas.glyphs.not_run,
        PhaseStatus::Warning => canvas.glyphs.warned,
        PhaseStatus::Success => canvas.glyphs.good,
    }
}

fn totals(canvas: &mut Canvas, report: &Report) {
    canvas.section("TOTALS");
    for kind in [FindingKind::Warning, FindingKind::Error] {
        canvas.put(0, &wording::counts(&report.totals(kind), kind));
        if let Some(not_kept) = report.not_kept(kind) {
            canvas.put(0, &format!("{} {not_kept}", canvas.glyphs.more));
        }
    }
    canvas.blank();
}

fn by_step(canvas: &mut Canvas, report: &Report, kind: FindingKind) {
    let found = report.by_step(kind);
    let not_kept = report.not_kept(kind);
    if found.is_empty() && not_kept.is_none() {
        return;
    }
    let count = (found.len() as u64).saturating_add(report.truncated.of(kind));
    canvas.section(&format!("{} BY PHASE/STEP ({count})", kind.plural().to_uppercase()));
    canvas.blank();
    let mut before: Option<&Noted> = None;
    for noted in found {
        // What a response says of all its findings is said once.
        let said = before.is_some_and(|before| {
            (&before.task, before.attempt, &before.analysis) == (&noted.task, noted.attempt, &noted.analysis)
        });
        finding(canvas, noted, !said);
        canvas.blank();
        before = Some(noted);
    }
    if let Some(not_kept) = not_kept {
        canvas.put(0, &format!("{} {not_kept}", canvas.glyphs.more));
        canvas.blank();
    }
}

/// Where the text of a finding begins.
const BELOW: usize = 3;

fn finding(canvas: &mut Canvas, noted: &Noted, with_analysis: bool) {
    let mut head = canvas.safe_line(&noted.task).into_owned();
    if noted.attempt > 1 {
        head.push_str(&format!(" (attempt {})", noted.attempt));
    }
    let category = canvas.safe_line(noted.finding.category.name());
    head.push_str(&format!(" [{}] [{category}]", noted.finding.severity));
    canvas.hang(0, canvas.glyphs.pin, &head);
    canvas.put(BELOW, &canvas.safe(&noted.finding.text));
    if let Some(analysis) = noted.analysis.as_deref().filter(|_| with_analysis) {
        branch(canvas, "Analysis", analysis);
    }
    if let Some(fix) = &noted.finding.suggested_fix {
        branch(canvas, "Fix", &fix.description);
    }
}

/// `└─ Analysis: …`
pub(super) fn branch(canvas: &mut Canvas, name: &str, text: &str) {
    let text = format!("{name}: {}", canvas.safe(text));
    canvas.hang(BELOW, canvas.glyphs.branch, &text);
}

fn by_category(canvas: &mut Canvas, report: &Report, kind: FindingKind) {
    let found = report.by_category(kind);
    if found.is_empty() {
        return;
    }
    canvas.section(&format!("{} BY CATEGORY", kind.plural().to_uppercase()));
    for entry in found {
        let mut line = format!("{} ({}): ", canvas.safe_line(entry.category.name()), entry.count);
        for (index, (task, count)) in entry.tasks.iter().enumerate() {
            line.push_str(if index > 0 { ", " } else { "" });
            line.push_str(&canvas.safe_line(task));
            if *count > 1 {
                line.push_str(&format!(" {}{count}", canvas.glyphs.times));
            }
        }
        canvas.put(0, &line);
    }
    if let Some(not_kept) = report.not_kept(kind) {
        canvas.put(0, &format!("{} {not_kept}", canvas.glyphs.more));
    }
    canvas.blank();
}

fn actions(canvas: &mut Canvas, report: &Report) {
    if report.remedies.is_empty() {
        return;
    }
    canvas.section("RECOMMENDED ACTIONS");
    canvas.blank();
    for (number, remedy) in (1_usize..).zip(&report.remedies) {
        let mark = format!("[{number}] ");
        canvas.hang(0, &mark, &canvas.safe_line(&wording::action(remedy)));
        for (name, value) in [("Command", &remedy.command), ("File", &remedy.file)] {
            if let Some(value) = value {
                let text = format!("{name}: {}", canvas.safe(value));
                canvas.put(mark.len(), &text);
            }
        }
        canvas.blank();
    }
    if let Some(skip) = report.skip_remaining() {
        canvas.hang(0, &format!("[{}] ", report.remedies.len() + 1), &skip);
        canvas.blank();
    }
}

fn artifacts(canvas: &mut Canvas, report: &Report) {
    if report.artifacts.is_empty() {
        return;
    }
    canvas.section("ARTIFACTS");
    for artifact in &report.artifacts {
        let text = wording::artifact(artifact);
        canvas.put(0, &canvas.safe_line(&text));
    }
    canvas.blank();
}
