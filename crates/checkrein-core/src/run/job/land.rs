//! A phase becomes part of the job's main branch, or meets a conflict there.

use serde::{Deserialize, Serialize};

use super::super::{At, Boundary, Move, PhaseStatus, RunEvent};
use super::finish::hold;
use super::{AgentOutcome, ForgeNews, phase_name};

/// How a merge went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landed {
    /// Where the job's main branch is now.
    pub main: String,
    /// Whether there was anything to merge.
    pub changed: bool,
    /// What became of the result, at the end of a job on a repository that was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// What else a person should know, such as a branch that was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Two sides that changed the same lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    pub files: Vec<String>,
    pub messages: Vec<String>,
    /// Where the agent's side is, if it is not on the phase's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_on: Option<String>,
    /// The branch the job started from, if that is what changed the same lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

impl Conflict {
    pub(super) fn met_by(&self, phase: &str) -> String {
        let files = self.files.join(", ");
        match &self.base {
            Some(base) => format!("The result does not fit branch `{base}` any more: conflict in {files}"),
            None => format!("Merging {phase} meets a conflict in {files}"),
        }
    }
}

pub(in crate::run) fn land(moved: &mut Move<'_>, landed: Landed) {
    let Some((_, job)) = moved.run.job() else { return };
    let phase = job.phase.clone();
    let complete = phase.work.as_ref().is_some_and(|work| work.result.outcome == AgentOutcome::JobComplete);
    moved.record(RunEvent::PhaseLanded { phase: phase.name(), landed });
    let row = moved.run.state.phases.get(usize::try_from(phase.number.saturating_sub(1)).unwrap_or(0));
    let status = match row.map_or(0, |row| row.warnings.saturating_add(row.errors)) {
        0 => PhaseStatus::Success,
        _ => PhaseStatus::Warning,
    };
    moved.record(RunEvent::PhaseEnded { phase: phase.name(), status });
    if complete {
        return moved.complete();
    }
    moved.record(RunEvent::PhaseStarted { phase: phase_name(phase.number.saturating_add(1)) });
    moved.go_on();
}

/// It is held again, and shows what the forge says against it.
pub(in crate::run) fn barred(moved: &mut Move<'_>, text: String) {
    let Some((_, job)) = moved.run.job() else { return };
    let phase = job.phase.clone();
    moved.record(RunEvent::Forge(Box::new(ForgeNews::Barred { text: text.clone() })));
    hold(moved, At { at: Boundary::Phase, phase: Some(phase.name()), task: None }, text);
}

/// It stays held, and shows the conflict; nothing is lost (L12, R9).
pub(in crate::run) fn conflicted(moved: &mut Move<'_>, conflict: Conflict) {
    let Some((_, job)) = moved.run.job() else { return };
    let phase = job.phase.clone();
    let reason = conflict.met_by(&phase.name());
    moved.record(RunEvent::LandingConflicted { phase: phase.name(), conflict });
    hold(moved, At { at: Boundary::Phase, phase: Some(phase.name()), task: None }, reason);
}
