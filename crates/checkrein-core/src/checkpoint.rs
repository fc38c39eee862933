//! The durable record of a hold: pending, then decided exactly once.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deliverable::Digest;

#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    pub id: CheckpointId,
    /// The run that waits at it.
    pub run: Option<String>,
    /// The agent that asked; none where somebody with more rights did.
    pub owner: Option<String>,
    pub worker: String,
    pub phase: String,
    /// The type the worker gave it, such as `deliverable`.
    pub kind: String,
    pub status: CheckpointStatus,
    /// Of the content that is judged.
    pub digest: Digest,
    /// Whether that is not what it was opened with: somebody pushed to the branch under review (X10).
    pub moved: bool,
    pub round: u32,
    pub created_at: Timestamp,
    pub resolved_at: Option<Timestamp>,
    pub reason: Option<String>,
    pub resolved_by: Option<String>,
}

/// Given by whoever asks, or made by the engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct CheckpointId(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be an id: it takes 1 to 200 characters without white space at its ends or characters that do not show"
)]
pub struct BadId(String);

impl CheckpointId {
    pub fn new(text: impl Into<String>) -> Result<CheckpointId, BadId> {
        let text = text.into();
        let sound = !text.is_empty()
            && text.chars().count() <= 200
            && text.trim() == text
            // In an address these mean another place.
            && text != "."
            && text != ".."
            && !text.chars().any(is_invisible);
        if sound { Ok(CheckpointId(text)) } else { Err(BadId(text.escape_debug().take(200).collect())) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Characters that do not show, or change how others do: a name with them is a disguise.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointStatus {
    Pending,
    Approved,
    Rejected,
    ChangesRequested,
    /// What it belonged to was cancelled.
    Withdrawn,
    /// The policy asked for none; recorded all the same.
    NotRequired,
}

impl CheckpointStatus {
    pub const ALL: [CheckpointStatus; 6] = [
        CheckpointStatus::Pending,
        CheckpointStatus::Approved,
        CheckpointStatus::Rejected,
        CheckpointStatus::ChangesRequested,
        CheckpointStatus::Withdrawn,
        CheckpointStatus::NotRequired,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            CheckpointStatus::Pending => "pending",
            CheckpointStatus::Approved => "approved",
            CheckpointStatus::Rejected => "rejected",
            CheckpointStatus::ChangesRequested => "changes_requested",
            CheckpointStatus::Withdrawn => "withdrawn",
            CheckpointStatus::NotRequired => "not_required",
        }
    }

    pub fn parse(word: &str) -> Option<CheckpointStatus> {
        CheckpointStatus::ALL.into_iter().find(|status| status.name() == word)
    }
}

impl fmt::Display for CheckpointStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Approve,
    Reject,
    RequestChanges,
}

impl Verdict {
    pub const fn status(self) -> CheckpointStatus {
        match self {
            Verdict::Approve => CheckpointStatus::Approved,
            Verdict::Reject => CheckpointStatus::Rejected,
            Verdict::RequestChanges => CheckpointStatus::ChangesRequested,
        }
    }
}

/// A verdict on its way to a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenVerdict {
    pub verdict: Verdict,
    pub reason: Option<String>,
    /// Who gives it.
    pub by: String,
    /// What was looked at; none trusts that nothing moved.
    pub digest: Option<Digest>,
    pub at: Timestamp,
}

/// What became of a verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    Now(Box<Checkpoint>),
    /// The same verdict was there already; nothing changes (C5).
    Already,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("checkpoint `{id}` is already {status}{}", by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default())]
    Decided { id: CheckpointId, status: CheckpointStatus, by: Option<String> },
    #[error(
        "checkpoint `{id}` asks whether its run goes on: approve or reject it, there is nothing to change"
    )]
    NothingToChange { id: CheckpointId },
    #[error("checkpoint `{id}` belongs to run `{run}` and is withdrawn with it alone")]
    BelongsToRun { id: CheckpointId, run: String },
    #[error("checkpoint `{id}` changed since it was opened: an approval must name what it approves")]
    Moved { id: CheckpointId, actual: Digest },
    #[error("checkpoint `{id}` holds {actual}, the verdict is about {judged}")]
    Stale { id: CheckpointId, actual: Digest, judged: Digest },
}

impl Checkpoint {
    /// A checkpoint is resolved once: the same verdict again is a no-op, another one a conflict.
    pub fn resolve(&self, given: &GivenVerdict) -> Result<Resolved, Refusal> {
        if let Some(judged) = given.digest.filter(|judged| *judged != self.digest) {
            return Err(Refusal::Stale { id: self.id.clone(), actual: self.digest, judged });
        }
        let blind = given.digest.is_none() && given.verdict == Verdict::Approve;
        if self.moved && blind && self.status == CheckpointStatus::Pending {
            return Err(Refusal::Moved { id: self.id.clone(), actual: self.digest });
        }
        self.settle(given.verdict.status(), given.reason.clone(), Some(given.by.clone()), given.at)
    }

    /// What it belonged to is gone.
    pub fn withdraw(&self, reason: Option<String>, by: String, at: Timestamp) -> Result<Resolved, Refusal> {
        self.settle(CheckpointStatus::Withdrawn, reason, Some(by), at)
    }

    fn settle(
        &self,
        status: CheckpointStatus,
        reason: Option<String>,
        by: Option<String>,
        at: Timestamp,
    ) -> Result<Resolved, Refusal> {
        if self.status == status {
            return Ok(Resolved::Already);
        }
        if self.status != CheckpointStatus::Pending {
            return Err(Refusal::Decided {
                id: self.id.clone(),
                status: self.status,
                by: self.resolved_by.clone(),
            });
        }
        let mut next = self.clone();
        next.status = status;
        next.reason = reason;
        next.resolved_by = by;
        next.resolved_at = Some(at);
        Ok(Resolved::Now(Box::new(next)))
    }

    /// Whether a second submission of this id is the same one (C6).
    pub fn same_submission(&self, other: &Checkpoint) -> bool {
        let key = |checkpoint: &Checkpoint| {
            (checkpoint.worker.clone(), checkpoint.phase.clone(), checkpoint.kind.clone(), checkpoint.digest)
        };
        key(self) == key(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(status: CheckpointStatus) -> Checkpoint {
        Checkpoint {
            id: CheckpointId::new("c1").unwrap(),
            run: None,
            owner: None,
            worker: "w".into(),
            phase: "p".into(),
            kind: "deliverable".into(),
            status,
            digest: Digest::of(b"draft"),
            moved: false,
            round: 1,
            created_at: Timestamp::UNIX_EPOCH,
            resolved_at: None,
            reason: None,
            resolved_by: None,
        }
    }

    fn given(verdict: Verdict) -> GivenVerdict {
        GivenVerdict {
            verdict,
            reason: Some("why".into()),
            by: "ann".into(),
            digest: None,
            at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_checkpoint_is_resolved_once() {
        use CheckpointStatus::*;
        for (status, verdict, expected) in [
            (Pending, Verdict::Approve, "now approved"),
            (Pending, Verdict::Reject, "now rejected"),
            (Pending, Verdict::RequestChanges, "now changes_requested"),
            (Approved, Verdict::Approve, "already"),
            (Approved, Verdict::Reject, "checkpoint `c1` is already approved"),
            (Rejected, Verdict::Reject, "already"),
            (Rejected, Verdict::Approve, "checkpoint `c1` is already rejected"),
            (ChangesRequested, Verdict::Approve, "checkpoint `c1` is already changes_requested"),
            (Withdrawn, Verdict::Approve, "checkpoint `c1` is already withdrawn"),
            (NotRequired, Verdict::Approve, "checkpoint `c1` is already not_required"),
        ] {
            let actual = match checkpoint(status).resolve(&given(verdict)) {
                Ok(Resolved::Now(next)) => format!("now {}", next.status),
                Ok(Resolved::Already) => "already".to_owned(),
                Err(refusal) => refusal.to_string(),
            };
            assert_eq!(actual, expected, "{status} {verdict:?}");
        }
    }

    #[test]
    fn a_verdict_is_bound_to_what_it_judged() {
        let stale = GivenVerdict { digest: Some(Digest::of(b"other")), ..given(Verdict::Approve) };
        assert!(matches!(checkpoint(CheckpointStatus::Pending).resolve(&stale), Err(Refusal::Stale { .. })));
        let bound = GivenVerdict { digest: Some(Digest::of(b"draft")), ..given(Verdict::Approve) };
        let Ok(Resolved::Now(next)) = checkpoint(CheckpointStatus::Pending).resolve(&bound) else { panic!() };
        assert_eq!((next.reason.as_deref(), next.resolved_by.as_deref()), (Some("why"), Some("ann")));
        assert_eq!(next.resolved_at, Some(Timestamp::UNIX_EPOCH));
    }

    #[test]
    fn ids_are_plain_words() {
        for (id, sound) in [
            ("custom-id-123", true),
            ("build/3: draft ü", true),
            ("", false),
            (" x", false),
            ("a\nb", false),
            ("x\u{202e}evorppa", false),
            (&"x".repeat(201), false),
        ] {
            assert_eq!(CheckpointId::new(id).is_ok(), sound, "{id}");
        }
    }
}
