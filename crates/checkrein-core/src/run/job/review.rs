//! What a person is shown of a phase: the deliverable its verdict is bound to.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::{Hold, Run};
use super::{Repository, ReviewOf};

/// One file that differs between a phase and the branch it was cut from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: String,
    /// `added`, `modified`, `deleted`, `renamed`, …
    pub change: String,
    pub added: u64,
    pub removed: u64,
}

impl ReviewOf {
    pub const fn name(self) -> &'static str {
        match self {
            ReviewOf::InitialStrategic => "initial_strategic",
            ReviewOf::Strategic => "strategic",
            ReviewOf::Tactical => "tactical",
            ReviewOf::JobComplete => "job_complete",
        }
    }
}

impl super::JobPhase {
    /// The branch's name without what leads to it.
    pub fn branch(&self) -> String {
        match self.revision {
            0 | 1 => self.name(),
            revision => format!("{}-rev-{revision}", self.name()),
        }
    }

    /// A round in which nothing changed.
    pub fn is_unchanged(&self) -> bool {
        self.round > 1
            && self.work.as_ref().is_some_and(|work| {
                work.changed_in_round.is_empty() && work.conflict.is_none() && !work.pushed
            })
    }
}

/// The deliverable of a review. It names the commit, so a verdict on it is a verdict on that commit.
pub fn asked(run: &Run, hold: &Hold) -> Value {
    let Some((definition, job)) = run.job() else { return Value::Null };
    let phase = &job.phase;
    let work = phase.work.as_deref().cloned().unwrap_or_default();
    let result = &work.result;
    let (base, files, files_total) = work.looked_at();
    let existing = match &definition.repository {
        Repository::Own => None,
        Repository::Existing { directory, .. } => Some(directory),
    };
    json!({
        "run_id": run.id.as_str(),
        "kind": "review",
        "question": hold.question(),
        "reason": hold.reason,
        "description": definition.description,
        "expert": definition.expert,
        "level": run.policy().level,
        "phase": phase.name(),
        "phase_number": phase.number,
        "phase_kind": phase.kind(),
        "context": phase.review_of().name(),
        "branch": phase.branch(),
        "revision": phase.revision,
        "round": hold.round,
        "repository": existing,
        "isolation": definition.isolation,
        "base": base,
        "head": work.head,
        "summary": result.summary,
        "todos": phase.todos,
        "next_todos": result.next_todos,
        "deliverables": result.deliverables,
        "confidence": result.confidence,
        "milestone": result.milestone,
        "files": files,
        "files_total": files_total,
        "protected": work.protected,
        "no_change_since_last_round": phase.is_unchanged(),
        "conflict": work.conflict,
    })
}
