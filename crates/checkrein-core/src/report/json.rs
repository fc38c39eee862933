//! A report for programs. What it looks like is in `schemas/report.json`.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Noted, PhaseRow, Remedy, Report, Truncated, Waited};
use crate::decision::{LimitsReached, Rule, StepOrHook};
use crate::finding::{FindingKind, Fix, Severity};
use crate::plan::Timing;
use crate::response::Status;
use crate::run::job::Spent;
use crate::run::{Attempt, Choice, PhaseStatus, RunStatus};
use crate::tally::BySeverity;

/// Everything a report knows; a field is only ever added.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "report")]
pub struct ReportJson<'r> {
    pub run_id: &'r str,
    pub workflow_id: &'r str,
    pub target: Option<&'r str>,
    pub work_id: Option<&'r str>,
    pub status: RunStatus,
    /// Why it stands where it stands.
    pub reason: Option<&'r str>,
    /// The rule of the policy that stopped it.
    pub rule: Option<Rule>,
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// When it came to rest; null while it goes on or waits.
    #[schemars(with = "Option<String>")]
    pub ended_at: Option<Timestamp>,
    pub duration_ms: u64,
    /// What the agents of a job used, all in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// How often errors sent it back.
    pub retries: u32,
    pub phases: Vec<PhaseJson<'r>>,
    pub totals: TotalsJson,
    /// Findings that are counted but not kept.
    pub truncated: Truncated,
    pub limits_reached: LimitsReached,
    /// The phase of each time it was stopped, also where it went on later.
    pub stops: &'r [String],
    /// For people.
    pub waited: Waited,
    /// Every finding that is kept, in the order it came.
    pub findings: Vec<FindingJson<'r>>,
    pub warnings_by_category: Vec<CategoryJson<'r>>,
    pub errors_by_category: Vec<CategoryJson<'r>>,
    /// The most urgent first.
    pub recommended_actions: Vec<ActionJson<'r>>,
    pub artifacts: &'r [Value],
    /// Every response, also of hooks and of attempts that were not the last.
    pub attempts: Vec<AttemptJson<'r>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseJson<'r> {
    pub name: &'r str,
    pub status: PhaseStatus,
    /// Whether it is where the run stands, neither ended nor failed.
    pub unfinished: bool,
    pub steps_done: u32,
    pub steps: u32,
    pub warnings: BySeverity,
    pub errors: BySeverity,
}

/// Every finding counts, kept or not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TotalsJson {
    pub warnings: u64,
    pub errors: u64,
    pub warnings_by_severity: BySeverity,
    pub errors_by_severity: BySeverity,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FindingJson<'r> {
    pub kind: KindJson,
    /// `build:implement`, or `hook:pre-build-lint`.
    pub step_id: &'r str,
    pub phase: &'r str,
    pub attempt: u32,
    pub severity: Severity,
    pub category: &'r str,
    pub text: &'r str,
    /// What the response says about its findings of this kind.
    pub analysis: Option<&'r str>,
    pub suggested_fix: Option<FixJson<'r>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KindJson {
    Warning,
    Error,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FixJson<'r> {
    pub description: &'r str,
    pub command: Option<&'r str>,
    pub file: Option<&'r str>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CategoryJson<'r> {
    pub category: &'r str,
    pub count: u64,
    pub steps: Vec<StepCountJson<'r>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepCountJson<'r> {
    pub step_id: &'r str,
    pub count: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ActionJson<'r> {
    /// What a person chooses, counted from 1.
    pub number: usize,
    /// Its own in the run, by which a choice names it.
    pub id: String,
    pub title: String,
    pub step_id: &'r str,
    pub phase: &'r str,
    /// Of the finding it mends; null where the response proposes it as a whole.
    pub kind: Option<KindJson>,
    pub severity: Option<Severity>,
    pub category: Option<&'r str>,
    pub description: &'r str,
    pub command: Option<&'r str>,
    pub file: Option<&'r str>,
    /// What a person did about it; null where nobody did anything yet.
    pub choice: Option<Choice>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AttemptJson<'r> {
    pub response_id: &'r str,
    pub step_id: &'r str,
    pub step_name: &'r str,
    pub phase: &'r str,
    #[serde(rename = "type")]
    pub kind: StepOrHook,
    pub hook_timing: Option<Timing>,
    pub attempt: u32,
    /// Of several attempts in one response only the last is judged and counted.
    pub judged: bool,
    pub status: Status,
    pub message: Option<&'r str>,
    pub details: Option<&'r Value>,
    pub warnings: u64,
    pub errors: u64,
    /// What had to be coerced in the response.
    pub notes: &'r [String],
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    pub duration_ms: u64,
    pub exit_code: Option<i32>,
    /// The file with its output.
    pub output: Option<&'r str>,
}

impl Report {
    pub fn json(&self) -> ReportJson<'_> {
        let (warnings, errors) = (self.totals(FindingKind::Warning), self.totals(FindingKind::Error));
        ReportJson {
            run_id: &self.run,
            workflow_id: &self.workflow,
            target: self.target.as_deref(),
            work_id: self.work_id.as_deref(),
            status: self.status,
            reason: self.reason.as_deref(),
            rule: self.stopped.as_ref().and_then(|stopped| stopped.rule),
            started_at: self.started_at,
            ended_at: self.ended_at,
            duration_ms: self.duration_ms,
            spent: self.spent,
            retries: self.retries,
            phases: self.phases.iter().map(phase).collect(),
            totals: TotalsJson {
                warnings: warnings.total(),
                errors: errors.total(),
                warnings_by_severity: warnings,
                errors_by_severity: errors,
            },
            truncated: self.truncated,
            limits_reached: self.limits_reached,
            stops: &self.stops,
            waited: self.waited,
            findings: self.findings.iter().map(finding).collect(),
            warnings_by_category: categories(self, FindingKind::Warning),
            errors_by_category: categories(self, FindingKind::Error),
            recommended_actions: (1..).zip(&self.remedies).map(action).collect(),
            artifacts: &self.artifacts,
            attempts: self.attempts.iter().map(attempt).collect(),
        }
    }
}

impl From<FindingKind> for KindJson {
    fn from(kind: FindingKind) -> KindJson {
        match kind {
            FindingKind::Warning => KindJson::Warning,
            FindingKind::Error => KindJson::Error,
        }
    }
}

fn phase(row: &PhaseRow) -> PhaseJson<'_> {
    PhaseJson {
        name: &row.name,
        status: row.status,
        unfinished: row.unfinished,
        steps_done: row.steps_done,
        steps: row.steps,
        warnings: row.warnings,
        errors: row.errors,
    }
}

fn finding(noted: &Noted) -> FindingJson<'_> {
    FindingJson {
        kind: noted.finding.kind.into(),
        step_id: &noted.task,
        phase: &noted.phase,
        attempt: noted.attempt,
        severity: noted.finding.severity,
        category: noted.finding.category.name(),
        text: &noted.finding.text,
        analysis: noted.analysis.as_deref(),
        suggested_fix: noted.finding.suggested_fix.as_ref().map(fix),
    }
}

fn fix(fix: &Fix) -> FixJson<'_> {
    FixJson { description: &fix.description, command: fix.command.as_deref(), file: fix.file.as_deref() }
}

fn categories(report: &Report, kind: FindingKind) -> Vec<CategoryJson<'_>> {
    let entries = report.by_category(kind).into_iter();
    let entry = entries.map(|entry| CategoryJson {
        category: entry.category.name(),
        count: entry.count,
        steps: entry.tasks.into_iter().map(|(step_id, count)| StepCountJson { step_id, count }).collect(),
    });
    entry.collect()
}

fn action((number, remedy): (usize, &Remedy)) -> ActionJson<'_> {
    let mends = remedy.finding.as_ref();
    ActionJson {
        number,
        id: remedy.id(),
        title: remedy.title(),
        step_id: &remedy.task,
        phase: &remedy.phase,
        kind: mends.map(|(kind, _, _)| (*kind).into()),
        severity: mends.map(|(_, severity, _)| *severity),
        category: mends.map(|(_, _, category)| category.name()),
        description: &remedy.description,
        command: remedy.command.as_deref(),
        file: remedy.file.as_deref(),
        choice: remedy.choice,
    }
}

fn attempt(attempt: &Attempt) -> AttemptJson<'_> {
    let response = &attempt.response;
    AttemptJson {
        response_id: &attempt.response_id,
        step_id: &attempt.task,
        step_name: &attempt.name,
        phase: &attempt.phase,
        kind: attempt.kind,
        hook_timing: attempt.hook_timing,
        attempt: attempt.attempt,
        judged: attempt.judged,
        status: response.status,
        message: response.message.as_deref(),
        details: response.details.as_ref(),
        warnings: response.warnings.len() as u64,
        errors: response.errors.len() as u64,
        notes: &response.notes,
        started_at: attempt.started_at,
        duration_ms: attempt.duration_ms,
        exit_code: attempt.exit_code,
        output: attempt.output.as_deref(),
    }
}
