//! What happened: the log from which every state can be told again.
//!
//! Stored events are read for ever. A field is only ever added, with a default; a changed meaning is a
//! new kind.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoint, CheckpointId, CheckpointStatus};
use crate::deliverable::Digest;
use crate::principal::{Principal, PrincipalKind};
use crate::run::RunEvent;

/// What happened to one stream, without the envelope (which stream, when, at which position).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    CheckpointCreated {
        /// The run that waits at it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
        /// The agent that asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
        /// Who asked; not known of old events, and nobody where a run did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        created_by: Option<String>,
        worker: String,
        phase: String,
        #[serde(rename = "type")]
        kind: String,
        digest: Digest,
        #[serde(default = "first_round")]
        round: u32,
        /// Pending, or not required.
        status: CheckpointStatus,
        /// From then on it counts as rejected, if nobody has answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    CheckpointResolved {
        status: CheckpointStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// What kind of principal that is; not known of old events.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_kind: Option<PrincipalKind>,
        /// The id of the token that proved who it is, where one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_token: Option<String>,
        digest: Digest,
    },
    /// What it asks about is something else now: somebody pushed to the branch under review (X10).
    CheckpointMoved { digest: Digest },
    #[serde(untagged)]
    Run(RunEvent),
}

const fn first_round() -> u32 {
    1
}

impl Event {
    pub fn created(checkpoint: &Checkpoint) -> Event {
        Event::CheckpointCreated {
            run: checkpoint.run.clone(),
            owner: checkpoint.owner.clone(),
            created_by: checkpoint.created_by.clone(),
            worker: checkpoint.worker.clone(),
            phase: checkpoint.phase.clone(),
            kind: checkpoint.kind.clone(),
            digest: checkpoint.digest,
            round: checkpoint.round,
            status: checkpoint.status,
            expires_at: checkpoint.expires_at,
        }
    }

    /// A checkpoint as it was left by nobody in particular.
    pub fn resolved(checkpoint: &Checkpoint) -> Event {
        Event::CheckpointResolved {
            status: checkpoint.status,
            reason: checkpoint.reason.clone(),
            by: checkpoint.resolved_by.clone(),
            by_kind: None,
            by_token: None,
            digest: checkpoint.digest,
        }
    }

    /// A checkpoint as somebody left it.
    pub fn resolved_by(checkpoint: &Checkpoint, somebody: &Principal) -> Event {
        let mut event = Event::resolved(checkpoint);
        if let Event::CheckpointResolved { by_kind, by_token, .. } = &mut event {
            *by_kind = Some(somebody.kind);
            by_token.clone_from(&somebody.token);
        }
        event
    }
}

/// Folds one more event of a checkpoint's stream into what is known of it; none where it cannot have
/// happened: a checkpoint is made once, open or not required, and resolved once, from being open.
pub fn fold_checkpoint(
    so_far: Option<Checkpoint>,
    id: &CheckpointId,
    at: Timestamp,
    event: &Event,
) -> Option<Checkpoint> {
    use CheckpointStatus::{NotRequired, Pending};
    match (event, so_far) {
        (
            Event::CheckpointCreated {
                run,
                owner,
                created_by,
                worker,
                phase,
                kind,
                digest,
                round,
                status,
                expires_at,
            },
            None,
        ) if matches!(status, Pending | NotRequired) => {
            Some(Checkpoint {
                id: id.clone(),
                run: run.clone(),
                owner: owner.clone(),
                created_by: created_by.clone(),
                worker: worker.clone(),
                phase: phase.clone(),
                kind: kind.clone(),
                status: *status,
                digest: *digest,
                moved: false,
                round: *round,
                created_at: at,
                expires_at: *expires_at,
                // Where none was required, the question was its own answer.
                resolved_at: (*status == NotRequired).then_some(at),
                reason: None,
                resolved_by: None,
            })
        }
        (Event::CheckpointMoved { digest }, Some(known)) if known.status == Pending => {
            Some(Checkpoint { digest: *digest, moved: true, ..known })
        }
        (Event::CheckpointResolved { status, reason, by, digest, .. }, Some(known))
            if known.status == Pending
                && known.digest == *digest
                && !matches!(status, Pending | NotRequired) =>
        {
            Some(Checkpoint {
                status: *status,
                reason: reason.clone(),
                resolved_by: by.clone(),
                resolved_at: Some(at),
                ..known
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_histories_that_can_have_happened_fold() {
        use CheckpointStatus::*;
        let created = |status| Event::CheckpointCreated {
            run: None,
            owner: None,
            created_by: None,
            worker: "w".into(),
            phase: "p".into(),
            kind: "deliverable".into(),
            digest: Digest::of(b"draft"),
            round: 1,
            status,
            expires_at: None,
        };
        let moved = |content: &[u8]| Event::CheckpointMoved { digest: Digest::of(content) };
        let resolved = |status, content: &[u8]| Event::CheckpointResolved {
            status,
            reason: None,
            by: Some("ann".into()),
            by_kind: Some(PrincipalKind::Person),
            by_token: None,
            digest: Digest::of(content),
        };
        for (events, expected) in [
            (vec![created(Pending)], Some(Pending)),
            (vec![created(NotRequired)], Some(NotRequired)),
            (vec![created(Pending), resolved(Approved, b"draft")], Some(Approved)),
            (vec![created(Pending), resolved(Withdrawn, b"draft")], Some(Withdrawn)),
            (vec![created(Pending), moved(b"other"), resolved(Approved, b"other")], Some(Approved)),
            (vec![created(Pending), moved(b"other"), resolved(Approved, b"draft")], None),
            (vec![created(Pending), resolved(Approved, b"draft"), moved(b"other")], None),
            // forged
            (vec![created(Approved)], None),
            (vec![resolved(Approved, b"draft")], None),
            (vec![created(Pending), created(Pending)], None),
            (vec![created(Pending), resolved(Pending, b"draft")], None),
            (vec![created(Pending), resolved(Approved, b"other")], None),
            (vec![created(NotRequired), resolved(Approved, b"draft")], None),
            (vec![created(Pending), resolved(Rejected, b"draft"), resolved(Approved, b"draft")], None),
        ] {
            let id = CheckpointId::new("c").unwrap();
            let told = events.iter().try_fold(None, |so_far, event| {
                fold_checkpoint(so_far, &id, Timestamp::UNIX_EPOCH, event).map(Some)
            });
            assert_eq!(told.flatten().map(|checkpoint| checkpoint.status), expected, "{events:?}");
        }
    }
}
