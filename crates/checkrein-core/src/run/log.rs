//! The records other tools read: one of every response, one of every time a run comes to rest.

use indexmap::IndexMap;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Attempt, Definition, PhaseStatus, Run, RunEvent, RunId, RunStatus};
use crate::decision::{LimitsReached, StepOrHook};
use crate::finding::FindingKind;
use crate::plan::Timing;
use crate::report::{Report, Truncated};
use crate::response::Status;
use crate::tally::BySeverity;

/// What one attempt of a step or hook returned.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "step-response")]
pub struct StepResponse {
    /// Always `step-response`.
    pub log_type: &'static str,
    pub response_id: String,
    pub workflow_id: String,
    pub run_id: String,
    /// `build:implement`, or `hook:pre-build-lint`.
    pub step_id: String,
    pub step_name: String,
    pub phase: String,
    #[serde(rename = "type")]
    pub kind: StepOrHook,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_timing: Option<Timing>,
    pub attempt: u32,
    pub status: Status,
    pub message: Option<String>,
    pub details: Option<Value>,
    #[schemars(with = "Vec<Value>")]
    pub warnings: Vec<crate::finding::Finding>,
    #[schemars(with = "Vec<Value>")]
    pub errors: Vec<crate::finding::Finding>,
    pub warning_analysis: Option<String>,
    pub error_analysis: Option<String>,
    #[schemars(with = "Vec<Value>")]
    pub suggested_fixes: Vec<crate::finding::Fix>,
    pub artifacts: Vec<Value>,
    /// What had to be coerced in the response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    #[schemars(with = "String")]
    pub timestamp: Timestamp,
    pub duration_ms: u64,
    pub exit_code: Option<i32>,
    /// The file with its output.
    pub output: Option<String>,
}

/// How a run stood when it ended, failed, was paused or cancelled.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "workflow-execution")]
pub struct WorkflowExecution {
    /// Always `workflow-execution`.
    pub log_type: &'static str,
    pub log_id: String,
    pub workflow_id: String,
    pub run_id: String,
    pub target: Option<String>,
    pub work_id: Option<String>,
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    #[schemars(with = "String")]
    pub completed_at: Timestamp,
    pub duration_ms: u64,
    pub final_status: RunStatus,
    /// Why it failed, was paused or cancelled.
    pub reason: Option<String>,
    pub phases_summary: IndexMap<String, PhaseSummary>,
    pub totals: Totals,
    pub limits_reached: LimitsReached,
    pub truncated: Truncated,
    /// The ids of its step-responses, in order.
    pub step_response_refs: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseSummary {
    pub status: PhaseStatus,
    /// That are done.
    pub steps: u32,
    pub warnings: u64,
    pub errors: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Totals {
    pub warnings: u64,
    pub errors: u64,
    pub warnings_by_severity: BySeverity,
    pub warnings_by_category: IndexMap<String, u64>,
    pub errors_by_severity: BySeverity,
    pub errors_by_category: IndexMap<String, u64>,
}

/// One line of a run's log.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Record {
    StepResponse(Box<StepResponse>),
    WorkflowExecution(Box<WorkflowExecution>),
}

/// The record of one event, where it has one; `run` and `events` are as they were right after it.
pub fn record<'e>(
    run: &Run,
    seq: u64,
    at: Timestamp,
    event: &RunEvent,
    events: impl IntoIterator<Item = (u64, Timestamp, &'e RunEvent)>,
) -> Option<Record> {
    match event {
        RunEvent::AttemptFinished(attempt) => {
            Some(Record::StepResponse(Box::new(step_response(&run.id, &run.definition, at, attempt))))
        }
        event if event.is_rest() => {
            Some(Record::WorkflowExecution(Box::new(execution(run, seq, at, events))))
        }
        _ => None,
    }
}

/// Every record of a run, in order: what its log holds, made again.
pub fn records(
    id: &RunId,
    definition: &std::sync::Arc<Definition>,
    events: &[(u64, Timestamp, RunEvent)],
) -> Vec<Record> {
    let mut events_so_far = events.iter().enumerate();
    let Some((_, (_, at, created))) = events_so_far.next() else { return Vec::new() };
    let (mut run, _) = Run::create(id.clone(), std::sync::Arc::clone(definition), created.clone(), *at);
    let mut found = Vec::new();
    for (index, (seq, at, event)) in events_so_far {
        run.fold(event, *at);
        let so_far = events.iter().take(index + 1).map(|(seq, at, event)| (*seq, *at, event));
        found.extend(record(&run, *seq, *at, event, so_far));
    }
    found
}

fn step_response(id: &RunId, definition: &Definition, at: Timestamp, attempt: &Attempt) -> StepResponse {
    let response = attempt.response.clone();
    StepResponse {
        log_type: "step-response",
        response_id: attempt.response_id.clone(),
        workflow_id: definition.plan.workflow.clone(),
        run_id: id.to_string(),
        step_id: attempt.task.clone(),
        step_name: attempt.name.clone(),
        phase: attempt.phase.clone(),
        kind: attempt.kind,
        hook_timing: attempt.hook_timing,
        attempt: attempt.attempt,
        status: response.status,
        message: response.message,
        details: response.details,
        warnings: response.warnings,
        errors: response.errors,
        warning_analysis: response.warning_analysis,
        error_analysis: response.error_analysis,
        suggested_fixes: response.suggested_fixes,
        artifacts: response.artifacts,
        notes: response.notes,
        timestamp: at,
        duration_ms: attempt.duration_ms,
        exit_code: attempt.exit_code,
        output: attempt.output.clone(),
    }
}

fn execution<'e>(
    run: &Run,
    seq: u64,
    at: Timestamp,
    events: impl IntoIterator<Item = (u64, Timestamp, &'e RunEvent)>,
) -> WorkflowExecution {
    let report = Report::of(run, events, 0, at);
    let mut totals = Totals::default();
    for attempt in report.attempts.iter().filter(|attempt| attempt.judged) {
        for finding in attempt.response.findings() {
            let (count, severities, categories) = match finding.kind {
                FindingKind::Warning => {
                    (&mut totals.warnings, &mut totals.warnings_by_severity, &mut totals.warnings_by_category)
                }
                FindingKind::Error => {
                    (&mut totals.errors, &mut totals.errors_by_severity, &mut totals.errors_by_category)
                }
            };
            *count += 1;
            severities.add(finding.severity);
            *categories.entry(finding.category.name().to_owned()).or_default() += 1;
        }
    }
    let summary = |row: &crate::report::PhaseRow| PhaseSummary {
        status: row.status,
        steps: row.steps_done,
        warnings: row.warnings.total(),
        errors: row.errors.total(),
    };
    WorkflowExecution {
        log_type: "workflow-execution",
        log_id: execution_id(&run.id, seq),
        workflow_id: report.workflow.clone(),
        run_id: report.run.clone(),
        target: report.target.clone(),
        work_id: report.work_id.clone(),
        started_at: report.started_at,
        completed_at: at,
        duration_ms: report.duration_ms,
        final_status: report.status,
        reason: report.reason.clone(),
        phases_summary: report.phases.iter().map(|row| (row.name.clone(), summary(row))).collect(),
        totals,
        limits_reached: report.limits_reached,
        truncated: report.truncated,
        step_response_refs: report.attempts.iter().map(|attempt| attempt.response_id.clone()).collect(),
    }
}

/// The id of the record a run's coming to rest has.
pub fn execution_id(run: &RunId, seq: u64) -> String {
    format!("{run}.end-{seq}")
}
