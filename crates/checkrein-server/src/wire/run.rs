//! A run as programs see it.

use checkrein_core::decision::LimitsReached;
use checkrein_core::policy::Policy;
use checkrein_core::report::Truncated;
use checkrein_core::run::job::{Comment, JobDefinition, JobPhase, Spent};
use checkrein_core::run::{CheckIn, Hold, PhaseStatus, RunEvent, RunStatus, Stopped, log};
use checkrein_core::tally::Tally;
use checkrein_engine::RunView;
use checkrein_store::StoredRun;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Object;
use super::workforce::Placement;

/// How a run stands; a job that runs is `processing`, and one that waits `pending_review`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusWord {
    Created,
    Running,
    Processing,
    Held,
    PendingReview,
    Paused,
    Completed,
    CompletedWithWarnings,
    Failed,
    Cancelled,
}

impl From<StatusWord> for RunStatus {
    fn from(word: StatusWord) -> RunStatus {
        match word {
            StatusWord::Created => RunStatus::Created,
            StatusWord::Running | StatusWord::Processing => RunStatus::Running,
            StatusWord::Held | StatusWord::PendingReview => RunStatus::Held,
            StatusWord::Paused => RunStatus::Paused,
            StatusWord::Completed => RunStatus::Completed,
            StatusWord::CompletedWithWarnings => RunStatus::CompletedWithWarnings,
            StatusWord::Failed => RunStatus::Failed,
            StatusWord::Cancelled => RunStatus::Cancelled,
        }
    }
}

/// A run in a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunItem {
    pub run_id: String,
    pub workflow_id: String,
    #[schemars(with = "StatusWord")]
    pub status: String,
    pub target: Option<String>,
    pub work_id: Option<String>,
    pub rerun_of: Option<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub updated_at: Timestamp,
    #[schemars(with = "Object")]
    pub response_totals: Tally,
}

impl From<&StoredRun> for RunItem {
    fn from(stored: &StoredRun) -> RunItem {
        let (run, state) = (&stored.run, &stored.run.state);
        RunItem {
            run_id: run.id.to_string(),
            workflow_id: run.workflow.clone(),
            status: state.status_word().to_owned(),
            target: run.target.clone(),
            work_id: run.work_id.clone(),
            rerun_of: run.rerun_of.clone(),
            created_at: state.created_at,
            started_at: state.started_at,
            ended_at: state.ended_at,
            updated_at: stored.updated_at,
            response_totals: state.tally,
        }
    }
}

/// A run, and where it stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    pub run_id: String,
    pub workflow_id: String,
    #[schemars(with = "StatusWord")]
    pub status: String,
    pub target: Option<String>,
    pub work_id: Option<String>,
    pub rerun_of: Option<String>,
    /// Where it stands
    pub phase: Option<String>,
    pub step: Option<String>,
    pub attempt: Option<u32>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// When a paused run is resumed by itself, if a server or a worker runs then
    pub retry_at: Option<Timestamp>,
    pub duration_ms: u64,
    /// The checkpoint it waits at
    pub checkpoint: Option<String>,
    /// The question it waits with
    #[schemars(with = "Option<Object>")]
    pub hold: Option<Hold>,
    #[schemars(with = "Option<Object>")]
    pub stopped: Option<Stopped>,
    pub retries: u32,
    pub phases: Vec<Phase>,
    #[schemars(with = "Object")]
    pub response_totals: Tally,
    pub limits_reached: LimitsReached,
    pub truncated: Truncated,
    #[schemars(with = "Option<Object>")]
    pub last_check_in: Option<CheckIn>,
    pub logs: Logs,
    /// The policy it was started with
    #[schemars(with = "Object")]
    pub policy: Policy,
    /// What a job has beside that
    pub job: Option<JobOfRun>,
    /// Where it can go on, and who has it; only where one run is asked for
    #[serde(default)]
    pub placement: Option<Placement>,
}

/// What a job was started with, and where it stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobOfRun {
    #[schemars(with = "Object")]
    pub definition: JobDefinition,
    #[schemars(with = "Object")]
    pub phase: JobPhase,
    #[schemars(with = "Vec<Object>")]
    pub comments: Vec<Comment>,
    /// By the whole job
    #[schemars(with = "Object")]
    pub spent: Spent,
    /// Since a person last answered: this is what its budget counts
    #[serde(default)]
    #[schemars(with = "Object")]
    pub spent_since_answer: Spent,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    pub name: String,
    pub status: PhaseStatus,
    pub steps_done: u32,
    pub steps: u32,
    pub warnings: u64,
    pub errors: u64,
}

/// The records of the run, by their ids.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Logs {
    pub step_responses: Vec<String>,
    pub workflow_execution: Option<String>,
}

impl Run {
    pub fn of(view: &RunView, now: Timestamp) -> Run {
        let (row, state) = (&view.row, &view.run.state);
        let report = view.report(now);
        let step_responses = view.history.iter().filter_map(|(.., event)| match event {
            RunEvent::AttemptFinished(attempt) => Some(attempt.response_id.clone()),
            _ => None,
        });
        let rest = view.history.iter().rev().find(|(.., event)| event.is_rest());
        let phases = report.phases.iter().map(|phase| Phase {
            name: phase.name.clone(),
            status: phase.status,
            steps_done: phase.steps_done,
            steps: phase.steps,
            warnings: phase.warnings.total(),
            errors: phase.errors.total(),
        });
        let under_way = view.run.task_under_way();
        Run {
            run_id: row.id.to_string(),
            workflow_id: row.workflow.clone(),
            status: state.status_word().to_owned(),
            target: row.target.clone(),
            work_id: row.work_id.clone(),
            rerun_of: row.rerun_of.clone(),
            phase: match view.run.job() {
                Some((_, job)) => Some(job.phase.name()),
                None => view.run.current_phase().map(|phase| phase.name.clone()),
            },
            step: under_way.map(|(_, task)| task.id.clone()),
            attempt: under_way.map(|(under_way, _)| under_way.attempt),
            created_at: state.created_at,
            started_at: state.started_at,
            ended_at: state.ended_at,
            retry_at: state.retry_at,
            duration_ms: report.duration_ms,
            checkpoint: view.checkpoint.clone(),
            hold: state.hold.clone(),
            stopped: state.stopped.clone(),
            retries: state.retries,
            phases: phases.collect(),
            response_totals: state.tally,
            limits_reached: state.limits_reached,
            truncated: report.truncated,
            last_check_in: state.last_check_in.clone(),
            logs: Logs {
                step_responses: step_responses.collect(),
                workflow_execution: rest.map(|(seq, ..)| log::execution_id(&row.id, *seq)),
            },
            policy: view.run.policy().clone(),
            job: view.run.job().map(|(definition, state)| JobOfRun {
                definition: definition.clone(),
                phase: state.phase.clone(),
                comments: state.comments.clone(),
                spent: state.spent_total,
                spent_since_answer: state.spent,
            }),
            placement: None,
        }
    }
}

/// What one attempt of a step wrote.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AttemptOutput {
    pub task: String,
    pub attempt: u32,
    pub stdout: String,
    pub stderr: String,
}
