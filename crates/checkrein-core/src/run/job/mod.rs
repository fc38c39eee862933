//! A job: its agent plans its own phases. Each phase is a branch that is reviewed or passes, and is then
//! merged.
//!
//! Phases count from 1 and alternate: strategic ones plan and look back, tactical ones do (L1).

mod answer;
mod bound;
pub mod brief;
mod brief_json;
mod comment;
mod definition;
mod finish;
mod fold;
mod forge;
mod hand_in;
mod land;
mod result;
mod review;
mod todo;

use std::collections::HashSet;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{Move, Refusal, Run, RunEvent, RunStatus, UnderWay};
use crate::boundary::PhaseKind;
use crate::policy::Policy;

pub use bound::{LeftOut, bound, bound_todos};
pub use brief_json::{BriefComments, BriefJson, BriefPhase, BriefReview, BriefUnfinished};
pub use comment::{Author, Comment, FileMark, FileMarks, MarkedFile, NewComment, Tag, first_of};
pub use definition::{Datasource, Isolation, JobDefinition, Merge, Repository};
pub(crate) use definition::{memory_bytes, processes};
pub use finish::{over_budget, retry_after};
pub use forge::{ForgeAt, ForgeKind, ForgeNews, Pull, Settled, Shown};
pub use hand_in::{HandIn, HandInRefusal};
pub use land::{Conflict, Landed};
pub use result::{AgentOutcome, AgentResult, Reply};
pub use review::{FileChange, asked};
pub use todo::{Todo, TodoList, feedback_todos};

/// What changes about a job beside what changes about every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobState {
    /// The policy in force, where somebody changed it while the job ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Policy>>,
    pub phase: JobPhase,
    /// For the next tactical phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub staged: Vec<Todo>,
    /// What the phase before did not do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<Todo>,
    /// What people did to the phase before after its agent had left it; this one's has to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold: Option<Untold>,
    /// Why the last phase of work asked to plan again, until the next one begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replan: Option<String>,
    /// Since a person last answered: this is what a budget counts.
    #[serde(default)]
    pub spent: Spent,
    /// The number of the phase a person last approved; 0 if there is none.
    #[serde(default)]
    pub approved_phase: u32,
    /// By the whole job.
    #[serde(default)]
    pub spent_total: Spent,
    /// Of the review under way, and what the agent was not given yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<Comment>,
    /// How many comments there were.
    #[serde(default)]
    pub commented: u32,
    /// What people said about single files of the review under way.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub marks: IndexMap<String, MarkedFile>,
    /// Files whose approval ended because their content changed, until they are marked again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lapsed: Vec<String>,
    /// In its forge: of the phase under way, and what was left open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pulls: Vec<Pull>,
    /// What people did in the forge in this phase, and we know of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<String>,
    /// What keeps it from its forge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// Commits of people on a branch that was merged with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untold {
    /// Where the agent left the branch.
    pub left: String,
    pub head: String,
}

/// The phase a job is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobPhase {
    /// From 1; none has begun at 0.
    pub number: u32,
    /// Of its branch; a review that was started over has a higher one (L4).
    pub revision: u32,
    pub round: u32,
    pub stage: Stage,
    /// What is to be done in this round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<Todo>,
    /// It left nothing to do once already (X8).
    #[serde(default)]
    pub repeated: bool,
    /// What a person wants changed; the end of the phase then holds at any level (X9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rework: Option<Rework>,
    /// What the attempt before left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<Work>>,
    /// The hold its review is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<u32>,
    /// The attempt before, where it ended without a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<UnfinishedAttempt>,
    /// How often in a row its agent's model did not answer.
    #[serde(default)]
    pub outages: u32,
}

/// An attempt that ended without a result. The next one is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedAttempt {
    pub because: UnfinishedBecause,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last commit before it, where the phase has had a result before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnfinishedBecause {
    /// Its process or its machine died.
    Lost,
    Paused,
    Failed,
    /// The agent could not continue, or its model did not answer.
    Blocked,
    /// Its budget was used up.
    Budget,
    /// The policy stopped the job because of what it found.
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The phase's own work.
    Work,
    /// Planning what a person wants changed, on the branch of a tactical phase.
    Feedback,
    /// Its work is done, and was stopped by a limit before anything was made of it.
    Done,
    /// To be merged.
    Land,
}

/// What a review is about, and so what a request for changes leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewOf {
    InitialStrategic,
    Strategic,
    Tactical,
    JobComplete,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rework {
    pub of: ReviewOf,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The commit that was looked at.
    pub head: String,
    /// Files of which changes were requested (X13).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// What an attempt left on its branch, and what the agent says about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    pub result: AgentResult,
    /// Where the phase was cut from the job's main branch.
    pub base: String,
    pub head: String,
    /// The last commit the agent knows of; what people did beyond it, it has still to be told.
    pub left: String,
    /// What differs between the two, without the job's own files; the first so many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    pub files_total: usize,
    /// What the whole job changed, where this is its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
    /// Commits of the agent in this round.
    #[serde(default)]
    pub commits: usize,
    /// Files that a policy protects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// What protected links led to where the phase began; not kept.
    #[serde(skip)]
    pub linked: Vec<String>,
    /// Files that differ from the round before; the first so many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_in_round: Vec<String>,
    /// Approved files that are not what was approved any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lapsed: Vec<String>,
    /// Whether a person pushed to the branch since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pushed: bool,
    /// Work and what a person pushed touch the same lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
    /// What is wrong with the `todos.yaml` that a person pushed while the agent planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_todos: Option<String>,
    /// Messages of people that reached the agent while it worked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<String>,
    /// Why the attempt was ended before its agent had ended it: its budget is used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
    /// Its agent's model did not answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outage: bool,
}

/// Everything a job changed: what is looked at when it is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// Where the job started.
    pub base: String,
    pub files: Vec<FileChange>,
    pub files_total: usize,
}

/// What was used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Spent {
    pub tokens: u64,
    pub cost: f64,
    pub time_ms: u64,
}

impl Work {
    /// Where what is looked at begins, the files that differ from there, and how many there are.
    pub fn looked_at(&self) -> (&str, &[FileChange], usize) {
        match &self.whole {
            Some(whole) => (&whole.base, &whole.files, whole.files_total),
            None => (&self.base, &self.files, self.files_total),
        }
    }
}

impl Spent {
    pub fn add(&mut self, other: Spent) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost += other.cost.max(0.0);
        self.time_ms = self.time_ms.saturating_add(other.time_ms);
    }
}

impl JobState {
    pub(super) fn new() -> JobState {
        let phase = JobPhase {
            number: 0,
            revision: 1,
            round: 1,
            stage: Stage::Work,
            todos: Vec::new(),
            repeated: false,
            rework: None,
            work: None,
            review: None,
            unfinished: None,
            outages: 0,
        };
        JobState {
            policy: None,
            phase,
            staged: Vec::new(),
            undone: Vec::new(),
            untold: None,
            replan: None,
            spent: Spent::default(),
            approved_phase: 0,
            spent_total: Spent::default(),
            comments: Vec::new(),
            commented: 0,
            marks: IndexMap::new(),
            lapsed: Vec::new(),
            pulls: Vec::new(),
            heard: Vec::new(),
            trouble: None,
        }
    }
}

impl JobPhase {
    pub const fn kind(&self) -> PhaseKind {
        kind(self.number)
    }

    /// What the attempt of this stage is: planning, or doing.
    pub const fn attempt_kind(&self) -> PhaseKind {
        match self.stage {
            Stage::Feedback => PhaseKind::Strategic,
            _ => self.kind(),
        }
    }

    /// Its todos as an attempt leaves them.
    pub fn todos_after(&self, result: &AgentResult) -> Vec<Todo> {
        let named: Option<HashSet<u32>> = result.todos_done.as_ref().map(|ids| ids.iter().copied().collect());
        // Whoever asks to plan again has not done what they do not name.
        let done = |todo: &Todo| match &named {
            Some(done) => done.contains(&todo.id),
            None => result.replan.is_none(),
        };
        self.todos.iter().map(|todo| Todo { done: done(todo), ..todo.clone() }).collect()
    }

    /// `phase-1-strategic`
    pub fn name(&self) -> String {
        phase_name(self.number)
    }

    /// What its review is about.
    pub fn review_of(&self) -> ReviewOf {
        let complete =
            self.work.as_ref().is_some_and(|work| work.result.outcome == AgentOutcome::JobComplete);
        match (self.kind(), self.number) {
            (PhaseKind::Strategic, _) if complete => ReviewOf::JobComplete,
            (PhaseKind::Strategic, 1) => ReviewOf::InitialStrategic,
            (PhaseKind::Strategic, _) => ReviewOf::Strategic,
            (PhaseKind::Tactical, _) => ReviewOf::Tactical,
        }
    }
}

/// Odd phases plan, even ones do.
pub const fn kind(number: u32) -> PhaseKind {
    if number % 2 == 1 { PhaseKind::Strategic } else { PhaseKind::Tactical }
}

pub fn phase_name(number: u32) -> String {
    format!("phase-{number}-{}", kind(number))
}

impl Run {
    /// What it is as a job, where it is one.
    pub fn job(&self) -> Option<(&JobDefinition, &JobState)> {
        Some((self.definition.job.as_deref()?, self.state.job.as_deref()?))
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        let changed = self.state.job.as_ref().and_then(|job| job.policy.as_deref());
        changed.unwrap_or(&self.definition.policy)
    }

    /// The word for where it stands, which jobs have others for (X3).
    pub fn status_word(&self) -> &'static str {
        self.state.status_word()
    }
}

impl super::State {
    pub fn status_word(&self) -> &'static str {
        match (self.status, &self.job) {
            (RunStatus::Running, Some(_)) => "processing",
            (RunStatus::Held, Some(_)) => "pending_review",
            (status, _) => status.name(),
        }
    }
}

impl Move<'_> {
    /// Goes on with a job: to the next attempt of its phase.
    pub(super) fn go_on(&mut self) {
        let Some(job) = &self.run.state.job else { return };
        if job.phase.number == 0 {
            self.record(RunEvent::PhaseStarted { phase: phase_name(1) });
        }
        self.attempt();
    }

    fn attempt(&mut self) {
        let Some(job) = &self.run.state.job else { return };
        let row = usize::try_from(job.phase.number.saturating_sub(1)).unwrap_or(usize::MAX);
        let done = self.run.state.phases.get(row).and_then(|phase| phase.attempts.first()).copied();
        self.record(RunEvent::AttemptStarted {
            task: job.phase.name(),
            attempt: done.unwrap_or(0).saturating_add(1),
            start: self.run.state.starts.saturating_add(1),
        });
    }
}

pub(super) fn under_way(state: &super::State, attempt: u32, start: u64) -> UnderWay {
    let number = state.job.as_ref().map_or(0, |job| job.phase.number);
    UnderWay { phase: usize::try_from(number.saturating_sub(1)).unwrap_or(0), task: 0, attempt, start }
}

/// Changes the policy of a job from its next boundary on; what is held stays held.
pub(super) fn change_policy(moved: &mut Move<'_>, policy: Box<Policy>, by: String) -> Result<(), Refusal> {
    if moved.run.job().is_none() {
        return Err(Refusal::NotAJob { id: moved.run.id.clone() });
    }
    moved.record(RunEvent::PolicyChanged { level: policy.level.clone(), policy, by });
    Ok(())
}

/// Counts what an attempt used that will not tell it itself.
pub(super) fn spend(moved: &mut Move<'_>, start: u64, used: Spent) -> Result<(), Refusal> {
    let Some((_, job)) = moved.run.job() else { return Err(Refusal::NotAJob { id: moved.run.id.clone() }) };
    if moved.run.state.under_way.as_ref().is_none_or(|under_way| under_way.start != start) {
        return Err(Refusal::StaleAttempt { id: moved.run.id.clone(), start });
    }
    let task = job.phase.name();
    moved.record(RunEvent::AttemptSpent { task, start, used });
    Ok(())
}

pub(super) use answer::answer;
pub(super) use comment::{comment, mark, resolve};
pub(super) use finish::{finish, resume};
pub(super) use fold::fold;
pub(super) use forge::learn;
pub(super) use land::{barred, conflicted, land};

#[cfg(test)]
mod simulator;
#[cfg(test)]
mod tests;
