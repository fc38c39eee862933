//! What many runs have in common: how they ended, what was found again and again, where they stopped,
//! and how long they waited for people.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::json::KindJson;
use super::layout::{Canvas, Style};
use super::{Report, wording};
use crate::finding::{Category, FindingKind};
use crate::run::RunStatus;
use crate::tally::BySeverity;

/// Takes one report after the other; none has to be kept.
#[derive(Clone, Debug, Default)]
pub struct Across {
    runs: u64,
    statuses: HashMap<RunStatus, u64>,
    warnings: BySeverity,
    errors: BySeverity,
    findings: HashMap<Key, Count>,
    stops: HashMap<String, Count>,
    holds: u64,
    waited_ms: u64,
}

/// Findings that differ in numbers alone are the same.
type Key = (FindingKind, Category, String);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    count: u64,
    runs: u64,
}

/// So many of the most frequent findings are named.
const FREQUENT_MAX: usize = 20;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "report-across")]
pub struct AcrossJson {
    pub runs: u64,
    /// How many runs have each status; those that no run has are left out.
    pub by_status: IndexMap<&'static str, u64>,
    pub warnings: BySeverity,
    pub errors: BySeverity,
    /// The most frequent first.
    pub most_frequent: Vec<FrequentFinding>,
    /// Where runs stopped, the phase that did most often first.
    pub stops_by_phase: Vec<PhaseStops>,
    /// How often a person was asked, and how long the runs waited for the answers.
    pub holds: u64,
    pub waited_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FrequentFinding {
    pub kind: KindJson,
    pub category: String,
    /// With `#` for every number in it.
    pub text: String,
    pub count: u64,
    /// In how many runs it was found.
    pub runs: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhaseStops {
    pub phase: String,
    pub count: u64,
    pub runs: u64,
}

impl Across {
    pub fn of<'r>(reports: impl IntoIterator<Item = &'r Report>) -> Across {
        let mut across = Across::default();
        reports.into_iter().for_each(|report| across.add(report));
        across
    }

    pub fn add(&mut self, report: &Report) {
        self.runs += 1;
        *self.statuses.entry(report.status).or_default() += 1;
        self.warnings.join(&report.totals(FindingKind::Warning));
        self.errors.join(&report.totals(FindingKind::Error));
        self.holds = self.holds.saturating_add(report.waited.holds);
        self.waited_ms = self.waited_ms.saturating_add(report.waited.waited_ms);
        let keys = report.findings.iter().map(|noted| {
            let finding = &noted.finding;
            (finding.kind, finding.category.clone(), normalised(&finding.text))
        });
        count(&mut self.findings, keys);
        count(&mut self.stops, report.stops.iter().cloned());
    }

    pub fn json(&self) -> AcrossJson {
        let statuses = RunStatus::ALL.into_iter();
        let statuses = statuses.filter_map(|status| Some((status.name(), *self.statuses.get(&status)?)));
        AcrossJson {
            runs: self.runs,
            by_status: statuses.collect(),
            warnings: self.warnings,
            errors: self.errors,
            most_frequent: self.most_frequent(),
            stops_by_phase: self.stops_by_phase(),
            holds: self.holds,
            waited_ms: self.waited_ms,
        }
    }

    pub fn text(&self, style: Style) -> String {
        let mut canvas = Canvas::new("REPORT ACROSS RUNS", style);
        canvas.put(0, &format!("Runs: {}", self.runs));
        let warnings = wording::counts(&self.warnings, FindingKind::Warning);
        let errors = wording::counts(&self.errors, FindingKind::Error);
        canvas.put(0, &format!("Found: {warnings}, {errors}"));
        let questions = if self.holds == 1 { "question" } else { "questions" };
        let waited = wording::duration(self.waited_ms);
        canvas.put(0, &format!("Waited for people: {waited} ({} {questions})", self.holds));
        if self.runs > 0 {
            canvas.section("RUNS BY STATUS");
            for (status, count) in
                RunStatus::ALL.into_iter().filter_map(|status| Some((status, self.statuses.get(&status)?)))
            {
                canvas.put(0, &format!("{}: {count}", wording::status(status)));
            }
            canvas.blank();
        }
        let stops = self.stops_by_phase();
        if !stops.is_empty() {
            canvas.section("PHASES THAT STOPPED");
            for stop in stops {
                let phase = canvas.safe_line(&stop.phase).into_owned();
                canvas.put(0, &format!("{phase}: {}", times(stop.count, stop.runs)));
            }
            canvas.blank();
        }
        let frequent = self.most_frequent();
        if !frequent.is_empty() {
            canvas.section("MOST FREQUENT FINDINGS");
            canvas.blank();
            for found in frequent {
                let kind = match found.kind {
                    KindJson::Warning => "warning",
                    KindJson::Error => "error",
                };
                let category = canvas.safe_line(&found.category).into_owned();
                let head = format!("{} [{kind}] [{category}]", times(found.count, found.runs));
                canvas.hang(0, canvas.glyphs.pin, &head);
                canvas.put(3, &canvas.safe(&found.text));
                canvas.blank();
            }
        }
        canvas.finish()
    }

    fn most_frequent(&self) -> Vec<FrequentFinding> {
        let mut found: Vec<(&Key, &Count)> = self.findings.iter().collect();
        found.sort_by(|(one, a), (other, b)| {
            (Reverse(a.count), Reverse(a.runs), &one.2, one.0, &one.1).cmp(&(
                Reverse(b.count),
                Reverse(b.runs),
                &other.2,
                other.0,
                &other.1,
            ))
        });
        let named =
            found.into_iter().take(FREQUENT_MAX).map(|((kind, category, text), count)| FrequentFinding {
                kind: (*kind).into(),
                category: category.name().to_owned(),
                text: text.clone(),
                count: count.count,
                runs: count.runs,
            });
        named.collect()
    }

    fn stops_by_phase(&self) -> Vec<PhaseStops> {
        let stops = self.stops.iter();
        let mut stops: Vec<PhaseStops> = stops
            .map(|(phase, count)| PhaseStops { phase: phase.clone(), count: count.count, runs: count.runs })
            .collect();
        stops.sort_by(|one, other| {
            (Reverse(one.count), &one.phase).cmp(&(Reverse(other.count), &other.phase))
        });
        stops
    }
}

/// Counts what one run has: each time, and once for the run.
fn count<K: Clone + Eq + std::hash::Hash>(counts: &mut HashMap<K, Count>, keys: impl Iterator<Item = K>) {
    let mut seen = HashSet::new();
    for key in keys {
        let entry = counts.entry(key.clone()).or_default();
        entry.count += 1;
        entry.runs += u64::from(seen.insert(key));
    }
}

/// `7 times in 3 runs`
fn times(count: u64, runs: u64) -> String {
    let times = if count == 1 { "time" } else { "times" };
    let plural = if runs == 1 { "run" } else { "runs" };
    format!("{count} {times} in {runs} {plural}")
}

/// A text without what differs from run to run: numbers are `#`, spaces one.
pub(super) fn normalised(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        let mut number = false;
        for c in word.chars() {
            match c.is_ascii_digit() {
                true if number => {}
                true => out.push('#'),
                false => out.push(c),
            }
            number = c.is_ascii_digit();
        }
    }
    out
}
