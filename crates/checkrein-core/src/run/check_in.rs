//! What a person is shown when a run asks: what was found since it last asked, and why it asks now.

use serde_json::{Value, json};

use super::{At, Boundary, Hold, HoldKind};
use crate::finding::FindingKind;
use crate::omission::NOT_SHOWN;
use crate::report::{Noted, Report};

/// So many findings of a kind are shown; the rest is counted.
const SHOWN_MAX: usize = 200;

impl Hold {
    /// The question itself (X17).
    pub fn question(&self) -> String {
        let phase = self.boundary.phase.as_deref();
        match self.kind {
            HoldKind::CheckIn => format!("Check-in: {}. Continue?", self.boundary.reached()),
            HoldKind::Gate => format!("Phase {} needs an approval. Start it?", phase.unwrap_or("?")),
            HoldKind::Review => match self.boundary.at {
                Boundary::Complete => "The job is complete. Approve its result?".to_owned(),
                _ => format!("{} waits for review. Approve it?", phase.unwrap_or("A phase")),
            },
            HoldKind::Prompt => format!("{}. Continue?", self.reason),
        }
    }
}

impl At {
    /// What a check-in here is about, such as `build complete`.
    pub fn reached(&self) -> String {
        let phase = self.phase.as_deref().unwrap_or("workflow");
        match self.at {
            Boundary::Complete => "workflow complete".to_owned(),
            Boundary::PhaseEntry => format!("{phase} begins"),
            Boundary::Phase => format!("{phase} complete"),
            Boundary::Step | Boundary::Hook => format!("{} complete", self.task.as_deref().unwrap_or(phase)),
        }
    }
}

/// The deliverable of a hold's checkpoint: what a verdict is bound to.
pub fn asked(hold: &Hold, since: &Report) -> Value {
    let list =
        |kind: FindingKind| -> Vec<Value> { since.of_kind(kind).take(SHOWN_MAX).map(finding).collect() };
    let actions = since.remedies.iter().take(SHOWN_MAX).map(|remedy| {
        json!({
            "id": remedy.id(), "step_id": remedy.task, "description": remedy.title(), "command": remedy.command,
            "file": remedy.file,
        })
    });
    let mut asked = json!({
        "run_id": since.run,
        "workflow_id": since.workflow,
        "kind": hold.kind,
        "question": hold.question(),
        "reason": hold.reason,
        "phase": hold.boundary.phase,
        "step": hold.boundary.task,
        "round": hold.round,
        "warnings": list(FindingKind::Warning),
        "errors": list(FindingKind::Error),
        "counts": {
            "warnings": since.of_kind(FindingKind::Warning).count(),
            "errors": since.of_kind(FindingKind::Error).count(),
        },
        "totals": since.tally,
        "artifacts": since.artifacts,
        "recommended_actions": actions.collect::<Vec<_>>(),
    });
    let not_shown = left_out(since);
    if !not_shown.is_empty()
        && let Some(fields) = asked.as_object_mut()
    {
        fields.insert(NOT_SHOWN.to_owned(), not_shown.into());
    }
    asked
}

/// What is only counted: an approval of that has to be confirmed (R17).
pub(crate) fn left_out(since: &Report) -> Vec<Value> {
    let found = |kind: FindingKind| {
        let more = since.of_kind(kind).count().saturating_sub(SHOWN_MAX) as u64;
        (kind.plural(), more.saturating_add(since.truncated.of(kind)))
    };
    let actions = ("recommended actions", since.remedies.len().saturating_sub(SHOWN_MAX) as u64);
    let counted = [found(FindingKind::Warning), found(FindingKind::Error), actions];
    let more = counted.into_iter().filter(|(_, more)| *more > 0);
    more.map(|(name, more)| json!({"text": format!("{more} more {name}")})).collect()
}

fn finding(noted: &Noted) -> Value {
    let mut value = serde_json::to_value(&noted.finding).unwrap_or_default();
    if let Some(map) = value.as_object_mut() {
        map.insert("step_id".to_owned(), noted.task.clone().into());
        map.insert("attempt".to_owned(), noted.attempt.into());
        if let Some(analysis) = &noted.analysis {
            map.insert("analysis".to_owned(), analysis.clone().into());
        }
    }
    value
}
