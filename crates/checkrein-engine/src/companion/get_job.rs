use checkrein_core::principal::Principal;
use checkrein_core::run::Stopped;
use checkrein_core::run::job::{Merge, Repository, Spent};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::shortened;
use super::{ReadTool, told};
use crate::{Engine, EngineError};

/// Nothing beside the job.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct JobWanted {}

/// A job, and where it stands.
#[derive(Clone, Debug, Serialize)]
pub struct JobShown {
    pub job: String,
    pub status: &'static str,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expert: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How far it may go on its own; none where the policy has no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    pub merge: Merge,
    pub repository: Repository,
    pub documents: Vec<String>,
    /// Names of what it may read from; addresses are not told.
    pub datasources: Vec<String>,
    pub created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun_of: Option<String>,
    /// The phase it is in; none before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    pub round: u32,
    /// The checkpoint it waits at, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_because: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    pub warnings: u64,
    pub errors: u64,
    /// By the whole job.
    pub spent: Spent,
    /// Since a person last answered: this is what its budget counts.
    pub spent_since_answer: Spent,
    pub branches: Vec<BranchShown>,
    pub comments_waiting: usize,
    /// The beginning of its plan; read_workspace_file has the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct BranchShown {
    pub name: String,
    pub head: String,
}

const PLAN_CHARS_MAX: usize = 12_000;
const BRANCHES_MAX: usize = 100;

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<JobWanted>(
        "get_job",
        "The job: what it was given, where it stands, what it waits for, its branches and its plan.",
        |engine, by, job, JobWanted {}| Box::pin(async move { told(&engine.job_shown(by, job).await?) }),
    )
}

impl Engine {
    pub async fn job_shown(&self, by: &Principal, job: &str) -> Result<JobShown, EngineError> {
        let looked = self.job(by, job).await?;
        let (view, run) = (&looked.view, &looked.view.run);
        let Some((definition, state)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
        let tally = &run.state.tally;
        Ok(JobShown {
            job: run.id.to_string(),
            status: run.status_word(),
            description: definition.description.clone(),
            instructions: definition.instructions.clone(),
            expert: definition.expert.clone(),
            agent: run.definition.plan.agent.clone(),
            level: run.policy().level.clone(),
            merge: definition.merge,
            repository: definition.repository.clone(),
            documents: definition.documents.clone(),
            datasources: definition.datasources.iter().map(|source| source.name.clone()).collect(),
            created_at: run.state.created_at,
            started_at: run.state.started_at,
            ended_at: run.state.ended_at,
            rerun_of: view.row.rerun_of.clone(),
            phase: Some(&state.phase).filter(|phase| phase.number > 0).map(|phase| phase.name()),
            round: state.phase.round,
            waits_at: view.checkpoint.clone(),
            waits_because: view
                .checkpoint
                .as_ref()
                .and(run.state.hold.as_ref())
                .map(|hold| hold.reason.clone()),
            stopped: run.state.stopped.clone(),
            warnings: tally.warnings,
            errors: tally.errors,
            spent: state.spent_total,
            spent_since_answer: state.spent,
            branches: looked
                .branches
                .iter()
                .take(BRANCHES_MAX)
                .map(|(name, head)| BranchShown { name: name.clone(), head: head.to_string() })
                .collect(),
            comments_waiting: state.comments.iter().filter(|comment| comment.waits()).count(),
            plan: looked.plan.as_deref().map(|plan| shortened(plan, PLAN_CHARS_MAX)),
        })
    }
}
