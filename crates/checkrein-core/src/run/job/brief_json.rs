//! The brief as programs read it: the file CHECKREIN_BRIEF_JSON names, beside the one for people and models.

use serde::{Deserialize, Serialize};

use super::super::Run;
use super::brief::{LeftInClone, OnBranch};
use super::{Comment, Conflict, ReviewOf, Stage, Todo, UnfinishedBecause};
use crate::boundary::PhaseKind;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BriefJson {
    pub job: String,
    /// What the whole job is about.
    pub task: String,
    pub level: String,
    pub phase: BriefPhase,
    /// What is to be done in this attempt.
    pub todos: Vec<Todo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Why the phase of work before asks to plan again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replan: Option<String>,
    /// What a person wants changed, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<BriefReview>,
    pub comments: BriefComments,
    /// The attempt before this one, where it ended without a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<BriefUnfinished>,
    /// Two sides that do not fit, where that is to be settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
    /// Who changed the branch since the attempt before, and what they say they did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub human_commits: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_diff: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefPhase {
    pub name: String,
    pub number: u32,
    /// What the attempt is: planning, or doing.
    pub kind: PhaseKind,
    pub round: u32,
    pub branch: String,
    /// It plans corrections of work, on the branch of that work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub feedback: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefReview {
    pub of: ReviewOf,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Files of which changes were requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// The comments of the review under way, each list oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefComments {
    /// What people wrote that the agent was not given before. Each wants a reply.
    pub new: Vec<Comment>,
    /// What the agent was given before, its own replies, and what people settled meanwhile.
    pub earlier: Vec<Comment>,
}

impl BriefComments {
    pub fn all(&self) -> impl Iterator<Item = &Comment> {
        self.earlier.iter().chain(&self.new)
    }
}

/// An attempt without a result, and what it left in the clone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefUnfinished {
    pub because: UnfinishedBecause,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(flatten)]
    pub left: LeftInClone,
}

impl BriefJson {
    /// The brief of the attempt that is due; none where the run is no job.
    pub fn of(run: &Run, branch: &OnBranch) -> Option<BriefJson> {
        let (definition, job) = run.job()?;
        let phase = &job.phase;
        let review = phase.rework.as_ref().map(|rework| BriefReview {
            of: rework.of,
            by: rework.by.clone(),
            reason: rework.reason.clone(),
            files: rework.files.clone(),
        });
        let (new, earlier) = job.comments.iter().cloned().partition(Comment::waits);
        let unfinished = phase.unfinished.as_ref().map(|attempt| BriefUnfinished {
            because: attempt.because,
            reason: attempt.reason.clone(),
            left: branch.left.clone(),
        });
        Some(BriefJson {
            job: run.id.to_string(),
            task: definition.description.clone(),
            level: run.policy().level.clone().unwrap_or_else(|| "custom".to_owned()),
            phase: BriefPhase {
                name: phase.name(),
                number: phase.number,
                kind: phase.attempt_kind(),
                round: phase.round,
                branch: phase.branch(),
                feedback: phase.stage == Stage::Feedback,
            },
            todos: phase.todos.clone(),
            plan: branch.plan.clone(),
            replan: job.replan.clone(),
            review,
            comments: BriefComments { new, earlier },
            unfinished,
            conflict: phase.work.as_ref().and_then(|work| work.conflict.clone()),
            human_commits: branch.human_commits.clone(),
            human_diff: branch.human_diff.clone(),
        })
    }
}
