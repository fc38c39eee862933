//! What happened: the log from which every state can be told again.
//!
//! Stored events are read for ever. A field is only ever added, with a default; a changed meaning is a
//! new kind.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoint, CheckpointId, CheckpointStatus};
use crate::deliverable::Digest;

/// What happened to one stream, without the envelope (which stream, when, at which position).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    CheckpointCreated {
        worker: String,
        phase: String,
        #[serde(rename = "type")]
        kind: String,
        digest: Digest,
        #[serde(default = "first_round")]
        round: u32,
        /// Pending, or not required.
        status: CheckpointStatus,
    },
    CheckpointResolved {
        status: CheckpointStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        digest: Digest,
    },
}

const fn first_round() -> u32 {
    1
}

impl Event {
    pub fn created(checkpoint: &Checkpoint) -> Event {
        Event::CheckpointCreated {
            worker: checkpoint.worker.clone(),
            phase: checkpoint.phase.clone(),
            kind: checkpoint.kind.clone(),
            digest: checkpoint.digest,
            round: checkpoint.round,
            status: checkpoint.status,
        }
    }

    pub fn resolved(checkpoint: &Checkpoint) -> Event {
        Event::CheckpointResolved {
            status: checkpoint.status,
            reason: checkpoint.reason.clone(),
            by: checkpoint.resolved_by.clone(),
            digest: checkpoint.digest,
        }
    }
}

/// Folds one more event of a checkpoint's stream into what is known of it.
pub fn fold_checkpoint(
    so_far: Option<Checkpoint>,
    id: &CheckpointId,
    at: Timestamp,
    event: &Event,
) -> Option<Checkpoint> {
    match (event, so_far) {
        (Event::CheckpointCreated { worker, phase, kind, digest, round, status }, _) => Some(Checkpoint {
            id: id.clone(),
            worker: worker.clone(),
            phase: phase.clone(),
            kind: kind.clone(),
            status: *status,
            digest: *digest,
            round: *round,
            created_at: at,
            // What was never required was never open.
            resolved_at: (*status != CheckpointStatus::Pending).then_some(at),
            reason: None,
            resolved_by: None,
        }),
        (Event::CheckpointResolved { status, reason, by, digest }, Some(known)) => Some(Checkpoint {
            status: *status,
            digest: *digest,
            reason: reason.clone(),
            resolved_by: by.clone(),
            resolved_at: Some(at),
            ..known
        }),
        (Event::CheckpointResolved { .. }, None) => None,
    }
}
