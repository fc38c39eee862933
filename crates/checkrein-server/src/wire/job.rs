//! A job as programs see it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use checkrein_core::boundary::PhaseKind;
use checkrein_core::policy::Policy;
use checkrein_core::run::job::{Isolation, Merge, Repository, Spent, Stage, Todo};
use checkrein_core::run::{Hold, Stopped};
use checkrein_core::tally::Tally;
use checkrein_engine::JobView;
use checkrein_store::StoredRun;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Object;
use super::expert::time;
use super::forge::ForgeLink;
use super::run::{Phase, Run, RunItem, StatusWord};

/// A job in a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobItem {
    #[serde(flatten)]
    pub run: RunItem,
    /// The phase it is in; null before the first one
    pub phase: Option<String>,
    pub round: u32,
    /// By the whole job
    pub spent: Spent,
}

impl From<&StoredRun> for JobItem {
    fn from(stored: &StoredRun) -> JobItem {
        let job = stored.run.state.job.as_deref();
        JobItem {
            run: RunItem::from(stored),
            phase: job.filter(|job| job.phase.number > 0).map(|job| job.phase.name()),
            round: job.map_or(1, |job| job.phase.round),
            spent: job.map(|job| job.spent_total).unwrap_or_default(),
        }
    }
}

/// A job, and where it stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    pub run_id: String,
    #[schemars(with = "StatusWord")]
    pub status: String,
    pub description: String,
    pub expert: Option<String>,
    /// Null where the policy has no name
    pub level: Option<String>,
    pub rerun_of: Option<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub duration_ms: u64,
    /// The review it waits at
    pub checkpoint: Option<String>,
    #[schemars(with = "Option<Object>")]
    pub hold: Option<Hold>,
    #[schemars(with = "Option<Object>")]
    pub stopped: Option<Stopped>,
    /// The phase it is in; null before the first one
    pub phase: Option<PhaseOfJob>,
    pub phases: Vec<Phase>,
    /// What is to be done in this round
    #[schemars(with = "Vec<Object>")]
    pub todos: Vec<Todo>,
    /// What the next tactical phase has to do
    #[schemars(with = "Vec<Object>")]
    pub next_todos: Vec<Todo>,
    pub plan: Option<String>,
    pub branches: Vec<BranchItem>,
    /// For `git clone`, with a token as the password; null before the job has begun
    #[serde(default)]
    pub clone_url: Option<String>,
    /// Where its phase is reviewed as well; null where that is here alone
    #[serde(default)]
    pub forge: Option<ForgeLink>,
    /// Comments the agent was not given yet
    pub comments_waiting: usize,
    /// By the whole job
    pub spent: Spent,
    /// Since a person last answered: this is what its budget counts
    #[serde(default)]
    pub spent_since_answer: Spent,
    #[schemars(with = "Object")]
    pub response_totals: Tally,
    pub config: JobConfig,
    /// The policy in force
    #[schemars(with = "Object")]
    pub policy: Policy,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PhaseOfJob {
    pub name: String,
    pub number: u32,
    #[schemars(with = "String")]
    pub kind: PhaseKind,
    /// Of its branch; a review that was started over has a higher one
    pub revision: u32,
    pub round: u32,
    #[schemars(with = "String")]
    pub stage: Stage,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BranchItem {
    pub name: String,
    /// The commit it is at
    pub head: String,
}

/// What a job was started with, everything put together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobConfig {
    pub agent: Option<String>,
    pub instructions: Option<String>,
    /// `own`, or where the job started
    #[schemars(with = "Value")]
    pub repository: Repository,
    /// Names of documents that were handed over
    pub documents: Vec<String>,
    pub datasources: Vec<DatasourceItem>,
    pub merge: Merge,
    #[schemars(with = "String")]
    pub isolation: Isolation,
    /// Such as `2h`, or `none`
    pub timeout: String,
    pub idle_timeout: String,
    pub disk_bytes: u64,
    /// Names of variables that are handed to the agent
    pub environment: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DatasourceItem {
    pub name: String,
    /// The variable the agent finds it in
    pub variable: String,
    /// Without what is secret in it
    pub address: String,
}

impl Job {
    /// None where it is a run of another kind.
    pub fn of(job: &JobView, now: Timestamp, clone_url: Option<String>) -> Option<Job> {
        let (definition, state) = job.view.run.job()?;
        let run = Run::of(&job.view, now);
        let phase = Some(&state.phase).filter(|phase| phase.number > 0);
        let datasource = |source: &checkrein_core::run::job::Datasource| DatasourceItem {
            name: source.name.clone(),
            variable: source.variable.clone(),
            address: source.shown.clone(),
        };
        let branch = |(name, head): &(String, checkrein_forge::Oid)| BranchItem {
            name: name.clone(),
            head: head.to_string(),
        };
        Some(Job {
            run_id: run.run_id,
            status: run.status,
            description: definition.description.clone(),
            expert: definition.expert.clone(),
            level: run.policy.level.clone(),
            rerun_of: run.rerun_of,
            created_at: run.created_at,
            started_at: run.started_at,
            ended_at: run.ended_at,
            duration_ms: run.duration_ms,
            checkpoint: run.checkpoint,
            hold: run.hold,
            stopped: run.stopped,
            phase: phase.map(|phase| PhaseOfJob {
                name: phase.name(),
                number: phase.number,
                kind: phase.kind(),
                revision: phase.revision,
                round: phase.round,
                stage: phase.stage,
            }),
            phases: run.phases,
            todos: state.phase.todos.clone(),
            next_todos: state.staged.clone(),
            plan: job.plan.clone(),
            clone_url: clone_url.filter(|_| !job.branches.is_empty()),
            branches: job.branches.iter().map(branch).collect(),
            forge: job.view.forge_link(&state.phase.name()).map(ForgeLink::from),
            comments_waiting: state.comments.iter().filter(|comment| comment.waits()).count(),
            spent: state.spent_total,
            spent_since_answer: state.spent,
            response_totals: run.response_totals,
            config: JobConfig {
                agent: job.view.run.definition.plan.agent.clone(),
                instructions: definition.instructions.clone(),
                repository: definition.repository.clone(),
                documents: definition.documents.clone(),
                datasources: definition.datasources.iter().map(datasource).collect(),
                merge: definition.merge,
                isolation: definition.isolation,
                timeout: time(definition.timeout),
                idle_timeout: time(definition.idle_timeout),
                disk_bytes: definition.disk_bytes,
                environment: definition.environment.clone(),
            },
            policy: run.policy,
        })
    }
}

/// A document that is handed over with a job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// What the agent finds it under, in `documents/`; not a path
    #[schemars(length(min = 1))]
    pub name: String,
    /// What it says
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The same for what is no text
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

/// For whoever asks a server.
impl From<(String, Vec<u8>)> for Document {
    fn from((name, bytes): (String, Vec<u8>)) -> Document {
        match String::from_utf8(bytes) {
            Ok(text) => Document { name, text: Some(text), base64: None },
            Err(error) => {
                Document { name, text: None, base64: Some(BASE64_STANDARD.encode(error.as_bytes())) }
            }
        }
    }
}

/// Why something cannot be a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDocument {
    #[error("document `{0}` has to have either `text` or `base64`")]
    NotOne(String),
    #[error("`base64` of document `{0}` is not Base64")]
    NotBase64(String),
}

impl TryFrom<Document> for (String, Vec<u8>) {
    type Error = BadDocument;

    fn try_from(Document { name, text, base64 }: Document) -> Result<(String, Vec<u8>), BadDocument> {
        match (text, base64) {
            (Some(text), None) => Ok((name, text.into_bytes())),
            (None, Some(base64)) => match BASE64_STANDARD.decode(base64) {
                Ok(bytes) => Ok((name, bytes)),
                Err(_) => Err(BadDocument::NotBase64(name)),
            },
            _ => Err(BadDocument::NotOne(name)),
        }
    }
}
