//! What a run has to say for itself: every finding, every attempt, and what can be done about them.
//!
//! A report is made of the run and its events alone, so it can be made again at any time.

mod remedy;

mod order;
mod wording;

mod detail;
mod layout;
mod text;

mod json;
mod markdown;

mod html;
mod junit;
mod markup;
mod sarif;

mod across;
mod job;

use std::collections::HashMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decision::{LimitsReached, StepOrHook};
use crate::finding::{Finding, FindingKind};
use crate::run::job::Spent;
use crate::run::{Attempt, Definition, PhaseStatus, Place, RemedyChosen, Run, RunEvent, RunStatus, Stopped};
use crate::tally::{BySeverity, Tally};

pub use across::{Across, AcrossJson, FrequentFinding, PhaseStops};
pub use json::{
    ActionJson, AttemptJson, CategoryJson, FindingJson, FixJson, KindJson, PhaseJson, ReportJson,
    StepCountJson, TotalsJson,
};
pub use layout::Style;
pub use order::OfCategory;
pub use remedy::Remedy;
pub use text::{Format, pages};
pub use wording::{duration as duration_words, status as status_words, used as used_words};

#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub run: String,
    pub of: ReportOf,
    pub workflow: String,
    pub target: Option<String>,
    pub work_id: Option<String>,
    pub status: RunStatus,
    pub stopped: Option<Stopped>,
    /// Why it stands where it stands: what stopped it, what it asks, who ended it.
    pub reason: Option<String>,
    pub started_at: Timestamp,
    /// When it came to rest; none while it goes on or waits.
    pub ended_at: Option<Timestamp>,
    pub duration_ms: u64,
    /// What the agents of a job used, all in all.
    pub spent: Option<Spent>,
    /// How often errors sent it back.
    pub retries: u32,
    pub phases: Vec<PhaseRow>,
    /// Every finding that is kept, in the order it came.
    pub findings: Vec<Noted>,
    pub tally: Tally,
    /// Findings that are counted but not kept.
    pub truncated: Truncated,
    pub limits_reached: LimitsReached,
    /// The phase of each time it was stopped, also where it went on later.
    pub stops: Vec<String>,
    pub waited: Waited,
    /// What can be done, the most urgent first.
    pub remedies: Vec<Remedy>,
    pub artifacts: Vec<Value>,
    /// Every response, also of hooks and of attempts that were not the last.
    pub attempts: Vec<Attempt>,
}

/// What a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportOf {
    Workflow,
    Job,
}

impl ReportOf {
    pub const fn title(self) -> &'static str {
        match self {
            ReportOf::Workflow => "Workflow execution report",
            ReportOf::Job => "Job report",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseRow {
    pub name: String,
    pub status: PhaseStatus,
    /// Whether it is where the run stands, neither ended nor failed.
    pub unfinished: bool,
    pub steps_done: u32,
    pub steps: u32,
    /// What became of a phase of a job, which has no steps.
    pub review: Option<String>,
    /// Its steps in the order they run, done or not.
    pub step_ids: Vec<String>,
    pub warnings: BySeverity,
    pub errors: BySeverity,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Truncated {
    pub warnings: u64,
    pub errors: u64,
}

/// For people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waited {
    /// How often it asked.
    pub holds: u64,
    pub waited_ms: u64,
}

/// A finding and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// `build:implement`, `hook:pre-build-lint`.
    pub task: String,
    pub phase: String,
    pub attempt: u32,
    pub finding: Finding,
    /// What the response says about its findings of this kind.
    pub analysis: Option<String>,
    /// The place of its suggested fix among all that the run proposed.
    pub remedy_place: Option<u64>,
}

impl Truncated {
    pub const fn of(self, kind: FindingKind) -> u64 {
        match kind {
            FindingKind::Warning => self.warnings,
            FindingKind::Error => self.errors,
        }
    }
}

impl Report {
    /// Of everything that happened, or with `after` of what happened after that event alone.
    pub fn of<'e>(
        run: &Run,
        events: impl IntoIterator<Item = (u64, Timestamp, &'e RunEvent)>,
        after: u64,
        now: Timestamp,
    ) -> Report {
        let (definition, state) = (&run.definition, &run.state);
        let mut report = Report {
            run: run.id.to_string(),
            of: if run.job().is_some() { ReportOf::Job } else { ReportOf::Workflow },
            workflow: definition.plan.workflow.clone(),
            target: definition.target.clone(),
            work_id: definition.work_id.clone(),
            status: state.status,
            stopped: state.stopped.clone(),
            reason: None,
            started_at: state.started_at.unwrap_or(state.created_at),
            ended_at: state.ended_at,
            duration_ms: 0,
            spent: run.job().map(|(_, job)| job.spent_total),
            retries: state.retries,
            phases: if run.job().is_some() { job::rows(run) } else { rows(definition, run) },
            findings: Vec::new(),
            tally: state.tally,
            truncated: Truncated::default(),
            limits_reached: state.limits_reached,
            stops: Vec::new(),
            waited: Waited::default(),
            remedies: Vec::new(),
            artifacts: Vec::new(),
            attempts: Vec::new(),
        };
        let end = state.ended_at.unwrap_or(now);
        let lasted = end.duration_since(report.started_at).as_millis();
        report.duration_ms = u64::try_from(lasted).unwrap_or(0);
        let names = report.phases.iter().enumerate();
        let places: HashMap<String, usize> =
            names.map(|(index, phase)| (phase.name.clone(), index)).collect();
        let mut judged: Option<usize> = None;
        let mut asked_at: Option<Timestamp> = None;
        let mut phase: Option<&str> = None;
        let mut chosen: Vec<(&RemedyChosen, u64)> = Vec::new();
        // How many fixes were proposed before each attempt of the report, and until now.
        let (mut before, mut proposed) = (Vec::new(), 0_u64);
        for (seq, at, event) in events {
            if report.of == ReportOf::Job {
                job::follow(&mut report, event);
            }
            if asked_at.is_some_and(|_| event.answers()) {
                report.wait(asked_at.take(), at);
            }
            match event {
                RunEvent::RunHeld { .. } => {
                    report.waited.holds += 1;
                    asked_at = Some(at);
                }
                RunEvent::RemedyChosen(remedy) => chosen.push((remedy, proposed)),
                RunEvent::RunEnded { status: RunStatus::Failed, .. } => {
                    report.stops.extend(phase.map(str::to_owned));
                }
                _ => {}
            }
            match event {
                RunEvent::AttemptFinished(attempt) => {
                    phase = Some(&attempt.phase);
                    if attempt.judged
                        && let Some(place) = places.get(attempt.phase.as_str())
                        && let Some(row) = report.phases.get_mut(*place)
                    {
                        for finding in attempt.response.findings() {
                            let counts = match finding.kind {
                                FindingKind::Warning => &mut row.warnings,
                                FindingKind::Error => &mut row.errors,
                            };
                            counts.add(finding.severity);
                        }
                    }
                    if seq > after {
                        report.attempts.push(Attempt::clone(attempt));
                        before.push(proposed);
                        judged = None;
                        if attempt.judged {
                            judged = Some(report.findings.len());
                            report.artifacts.extend(attempt.response.artifacts.iter().cloned());
                            report.note(attempt, proposed);
                        }
                    }
                    if attempt.judged {
                        proposed = proposed.saturating_add(remedy::proposed(attempt));
                    }
                }
                // It speaks of the response before it.
                RunEvent::Decided(decided) if seq > after => {
                    let counts = [
                        (FindingKind::Warning, decided.truncated_warnings),
                        (FindingKind::Error, decided.truncated_errors),
                    ];
                    for (kind, count) in counts {
                        if let Some(from) = judged.filter(|_| count > 0) {
                            report.truncate(from, kind, count);
                        }
                    }
                }
                event => report.reason = reason(report.reason.take(), event),
            }
        }
        report.wait(asked_at, now);
        report.remedies = remedy::all(&report, &before, &chosen);
        report
    }

    fn wait(&mut self, since: Option<Timestamp>, until: Timestamp) {
        let waited = since.map_or(0, |since| until.duration_since(since).as_millis());
        self.waited.waited_ms = self.waited.waited_ms.saturating_add(u64::try_from(waited).unwrap_or(0));
    }

    pub fn of_kind(&self, kind: FindingKind) -> impl Iterator<Item = &Noted> {
        self.findings.iter().filter(move |noted| noted.finding.kind == kind)
    }

    fn note(&mut self, attempt: &Attempt, proposed: u64) {
        let mut place = proposed;
        for finding in attempt.response.findings() {
            let analysis = match finding.kind {
                FindingKind::Warning => &attempt.response.warning_analysis,
                FindingKind::Error => &attempt.response.error_analysis,
            };
            let remedy_place = finding.suggested_fix.as_ref().map(|_| {
                place = place.saturating_add(1);
                place
            });
            self.findings.push(Noted {
                task: attempt.task.clone(),
                phase: attempt.phase.clone(),
                attempt: attempt.attempt,
                finding: finding.clone(),
                analysis: analysis.clone(),
                remedy_place,
            });
        }
    }

    /// Forgets the last findings of a kind that were noted from `from` on.
    fn truncate(&mut self, from: usize, kind: FindingKind, count: u64) {
        let tail = self.findings.split_off(from);
        let all = tail.iter().filter(|noted| noted.finding.kind == kind).count() as u64;
        let mut left = all.saturating_sub(count);
        self.findings.extend(tail.into_iter().filter(|noted| {
            let of_kind = noted.finding.kind == kind;
            let keep = !of_kind || left > 0;
            left = left.saturating_sub(u64::from(of_kind));
            keep
        }));
        match kind {
            FindingKind::Warning => self.truncated.warnings += count,
            FindingKind::Error => self.truncated.errors += count,
        }
    }
}

/// After an event that has to do with it; others leave it as it was.
fn reason(before: Option<String>, event: &RunEvent) -> Option<String> {
    let by = |what: &str, by: &str, reason: &Option<String>| match reason {
        Some(reason) => format!("{what} by {by}: {reason}"),
        None => format!("{what} by {by}"),
    };
    match event {
        RunEvent::RunHeld { reason, .. } => Some(reason.clone()),
        RunEvent::HoldReleased { .. } | RunEvent::RunResumed { .. } => None,
        RunEvent::HoldRejected { by: who, reason, .. } => Some(by("Rejected", who, reason)),
        // A no pauses the run, and is the better reason.
        RunEvent::RunPaused { by: who, reason, .. } => {
            reason.clone().or(before).or_else(|| Some(by("Paused", who, &None)))
        }
        RunEvent::RunCancelled { by: who, reason } => Some(by("Cancelled", who, reason)),
        RunEvent::RunEnded { reason, .. } => reason.clone(),
        _ => before,
    }
}

fn rows(definition: &Definition, run: &Run) -> Vec<PhaseRow> {
    let phases = definition.plan.phases.iter().zip(&run.state.phases).enumerate();
    let row = |(index, (phase, state)): (usize, (&crate::plan::PlannedPhase, &crate::run::PhaseState))| {
        let steps = phase.tasks.iter().filter(|task| task.kind == StepOrHook::Step);
        let step_ids: Vec<String> = steps.map(|task| task.id.clone()).collect();
        let here = matches!(run.state.place, Place::Task { phase, .. } if phase == index);
        PhaseRow {
            name: phase.name.clone(),
            status: state.status,
            unfinished: here && state.status != PhaseStatus::Failure,
            steps_done: state.steps_done,
            steps: u32::try_from(step_ids.len()).unwrap_or(u32::MAX),
            review: None,
            step_ids,
            warnings: BySeverity::default(),
            errors: BySeverity::default(),
        }
    };
    phases.map(row).collect()
}

#[cfg(test)]
mod tests;
