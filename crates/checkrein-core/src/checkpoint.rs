//! The durable record of a hold: pending, then decided exactly once.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deliverable::Digest;
use crate::shown::hides_something;

#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    pub id: CheckpointId,
    /// The run that waits at it.
    pub run: Option<String>,
    /// The agent that asked; none where somebody with more rights did.
    pub owner: Option<String>,
    /// Who asked, of whatever role; nobody where a run did.
    pub created_by: Option<String>,
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
    /// From then on it counts as rejected, if nobody has answered: the policy's `timeout` with `on_timeout: reject`.
    pub expires_at: Option<Timestamp>,
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
            && !hides_something(&text);
        if sound { Ok(CheckpointId(text)) } else { Err(BadId(text.escape_debug().take(200).collect())) }
    }

    /// One that was taken before, perhaps when more was allowed; it stays what it is.
    pub fn stored(text: String) -> Option<CheckpointId> {
        (!text.is_empty()).then_some(CheckpointId(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
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

/// Who a rejection is by that nobody gave.
pub const TIMEOUT: &str = "timeout";

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
    #[error("checkpoint `{id}` belongs to run `{run}`, and is withdrawn only when the run is cancelled")]
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

    /// What a worker asked for itself is taken back. A run that waits is cancelled instead: it would wait on.
    pub fn withdraw(&self, reason: Option<String>, by: String, at: Timestamp) -> Result<Resolved, Refusal> {
        if let Some(run) = &self.run {
            return Err(Refusal::BelongsToRun { id: self.id.clone(), run: run.clone() });
        }
        self.settle(CheckpointStatus::Withdrawn, reason, Some(by), at)
    }

    /// The rejection it has become, where its time ran out before somebody answered. It is one whether or not
    /// anybody has recorded it.
    pub fn timed_out(&self, now: Timestamp) -> Option<Checkpoint> {
        let expired_at = self.expires_at.filter(|expires_at| *expires_at <= now)?;
        (self.status == CheckpointStatus::Pending).then(|| Checkpoint {
            status: CheckpointStatus::Rejected,
            reason: Some("nobody answered in time".to_owned()),
            resolved_by: Some(TIMEOUT.to_owned()),
            resolved_at: Some(expired_at),
            ..self.clone()
        })
    }

    /// How it stands at a moment: what has timed out is rejected.
    pub fn standing_at(self, now: Timestamp) -> Checkpoint {
        self.timed_out(now).unwrap_or(self)
    }

    fn settle(
        &self,
        status: CheckpointStatus,
        reason: Option<String>,
        by: Option<String>,
        at: Timestamp,
    ) -> Result<Resolved, Refusal> {
        // A verdict that comes too late never counts, recorded or not.
        if let Some(rejected) = self.timed_out(at) {
            return rejected.settle(status, reason, by, at);
        }
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
            created_by: None,
            worker: "w".into(),
            phase: "p".into(),
            kind: "deliverable".into(),
            status,
            digest: Digest::of(b"draft"),
            moved: false,
            round: 1,
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
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
    fn a_late_verdict_never_counts() {
        let second = |second| Timestamp::from_second(second).unwrap();
        let held = Checkpoint { expires_at: Some(second(10)), ..checkpoint(CheckpointStatus::Pending) };
        for (verdict, at, expected) in [
            (Verdict::Approve, 9, "now approved by ann"),
            (Verdict::Approve, 10, "checkpoint `c1` is already rejected by timeout"),
            (Verdict::RequestChanges, 11, "checkpoint `c1` is already rejected by timeout"),
            (Verdict::Reject, 11, "already"),
        ] {
            let actual = match held.resolve(&GivenVerdict { at: second(at), ..given(verdict) }) {
                Ok(Resolved::Now(next)) => format!("now {} by {}", next.status, next.resolved_by.unwrap()),
                Ok(Resolved::Already) => "already".to_owned(),
                Err(refusal) => refusal.to_string(),
            };
            assert_eq!(actual, expected, "{verdict:?} at {at}");
        }
        assert!(held.withdraw(None, "ann".into(), second(11)).is_err());
        assert_eq!(held.timed_out(second(9)), None);
        let rejected = held.clone().standing_at(second(60));
        assert_eq!((rejected.status, rejected.resolved_at), (CheckpointStatus::Rejected, Some(second(10))));
        let approved = Checkpoint { expires_at: Some(second(10)), ..checkpoint(CheckpointStatus::Approved) };
        assert_eq!(approved.timed_out(second(60)), None);
        assert_eq!(checkpoint(CheckpointStatus::Pending).timed_out(Timestamp::MAX), None);
    }

    #[test]
    fn the_hold_of_a_run_is_not_withdrawn() {
        let of_run = Checkpoint { run: Some("r".into()), ..checkpoint(CheckpointStatus::Pending) };
        for status in CheckpointStatus::ALL {
            let refused =
                Checkpoint { status, ..of_run.clone() }.withdraw(None, "ann".into(), Timestamp::MAX);
            assert!(matches!(refused, Err(Refusal::BelongsToRun { .. })), "{status}");
        }
        let own = checkpoint(CheckpointStatus::Pending).withdraw(None, "ann".into(), Timestamp::MAX);
        assert!(matches!(own, Ok(Resolved::Now(next)) if next.status == CheckpointStatus::Withdrawn));
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
            ("build\u{3164}", false),
            ("ship it \u{1f469}\u{200d}\u{1f4bb}", true),
            (&"x".repeat(201), false),
        ] {
            assert_eq!(CheckpointId::new(id).is_ok(), sound, "{id}");
        }
    }
}
