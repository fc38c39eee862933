//! Checkpoints: ask, look, decide, wait.

use std::time::Duration;

use checkrein_core::boundary::{Boundary, BoundaryKind};
use checkrein_core::checkpoint::{
    Checkpoint, CheckpointId, CheckpointStatus, GivenVerdict, Refusal, Resolved, Verdict,
};
use checkrein_core::config::Reviewer;
use checkrein_core::decision::{Outcome, Situation, decide};
use checkrein_core::deliverable::{Content, Deliverable, Digest};
use checkrein_core::event::Event;
use checkrein_core::omission::Omission;
use checkrein_core::principal::{Principal, Role};
use checkrein_core::run::job::NewComment;
use checkrein_core::run::{HoldKind, RunId};
use checkrein_core::shown::hides_something;
use checkrein_store::{CheckpointFilter, Commit, CommitError, Page, StoredCheckpoint, Version};
use uuid::Uuid;

use crate::authority::{Act, require};
use crate::sight::{owner, sight};
use crate::{Engine, EngineError};

/// So many timeouts are looked for at once.
const OVERDUE_MAX: usize = 100;

/// The reason of a verdict nobody thought about (C11).
pub(crate) const AUTOMATIC: &str = "approved automatically";

/// What a worker asks about.
#[derive(Clone, Debug)]
pub struct NewCheckpoint {
    /// A key of the worker's own: with it a restarted worker gets the answer it already had.
    pub id: Option<String>,
    pub worker: String,
    pub phase: String,
    pub kind: String,
    pub deliverable: Deliverable,
}

/// A person's answer to one or several checkpoints.
#[derive(Clone, Debug)]
pub struct VerdictRequest {
    pub verdict: Verdict,
    pub reason: Option<String>,
    /// What was looked at; none trusts that nothing moved.
    pub judged: Option<Judged>,
    /// Given with a verdict on a review.
    pub comments: Vec<NewComment>,
    /// On a new branch instead of the one that was looked at (L4).
    pub start_over: bool,
    /// Also where changes are requested of single files (X13), or parts are not shown (R17).
    pub confirmed: bool,
    /// Whether a verdict on a review has to name what was looked at (X10).
    pub naming: Naming,
    /// The version that was looked at; none takes any.
    pub version: Option<Version>,
    /// What it is in the forge, where it was given there.
    pub heard: Option<String>,
}

impl VerdictRequest {
    pub fn new(verdict: Verdict, reason: Option<String>) -> VerdictRequest {
        VerdictRequest {
            verdict,
            reason,
            judged: None,
            comments: Vec::new(),
            start_over: false,
            confirmed: false,
            naming: Naming::WhereItMoved,
            version: None,
            heard: None,
        }
    }
}

/// When a verdict on a review has to name what was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Once somebody pushed to it.
    WhereItMoved,
    /// Whoever decides from afar saw it some time ago.
    Always,
}

/// What a verdict names as its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    Digest(Digest),
    /// The commit a review is of.
    Commit(String),
}

impl Judged {
    /// A digest, or the full name of a commit.
    pub fn parse(text: &str) -> Option<Judged> {
        let text = text.trim();
        let hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match Digest::parse(text) {
            Some(digest) => Some(Judged::Digest(digest)),
            None => (hex && text.len() == 40).then(|| Judged::Commit(text.to_owned())),
        }
    }
}

/// A checkpoint with what it asks about.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointView {
    pub checkpoint: Checkpoint,
    pub content: Option<Content>,
    /// How often it was changed.
    pub version: Version,
}

impl Engine {
    /// Asks the worker's policy, and records a hold or that none was required.
    pub async fn create_checkpoint(
        &self,
        by: &Principal,
        new: NewCheckpoint,
    ) -> Result<Checkpoint, EngineError> {
        require(by, Act::AskForCheckpoint)?;
        for (name, text) in [("worker", &new.worker), ("type", &new.kind)] {
            if text.trim().is_empty() {
                return Err(EngineError::Empty(name));
            }
        }
        for (name, text) in [("worker", &new.worker), ("phase", &new.phase), ("type", &new.kind)] {
            if hides_something(text) {
                return Err(EngineError::Invisible(name));
            }
        }
        if let Err(wrong) = BoundaryKind::check_type(&new.kind) {
            return Err(EngineError::BadType { kind: new.kind, wrong });
        }
        // Another worker may have a policy that asks for less.
        if let Some(worker) = by.worker.as_ref().filter(|worker| **worker != new.worker) {
            let (own, other) = (worker.clone(), new.worker);
            return Err(EngineError::OtherWorker { own, other });
        }
        let id = match new.id {
            Some(id) => CheckpointId::new(id)?,
            None => CheckpointId::new(Uuid::now_v7().to_string())?,
        };
        // What a run asks is asked by the run.
        let run = id.as_str().split('.').next().unwrap_or_default();
        if RunId::looks_like(run) && self.store.run_version(run).await? > Version(0) {
            return Err(EngineError::ReservedId(id));
        }
        let content = new.deliverable.content()?;
        let policy = self.worker_policy(&new.worker)?;
        let boundary =
            Boundary { kind: new.kind.clone().into(), phase: Some(new.phase.clone()), ..Boundary::default() };
        let decision = decide(&policy, &Situation::at(&boundary));
        let now = self.now();
        let held = Checkpoint {
            id,
            run: None,
            owner: owner(by),
            created_by: Some(by.name.clone()),
            worker: new.worker,
            phase: new.phase,
            kind: new.kind,
            status: CheckpointStatus::Pending,
            digest: content.digest,
            moved: false,
            round: 1,
            created_at: now,
            expires_at: policy.deadline(now),
            resolved_at: None,
            reason: None,
            resolved_by: None,
        };
        let (checkpoint, events) = match (decision.outcome, self.settings.reviewer(&held.worker)) {
            (Outcome::Proceed, _) => {
                let recorded = Checkpoint {
                    status: CheckpointStatus::NotRequired,
                    resolved_at: Some(now),
                    expires_at: None,
                    ..held
                };
                let created = Event::created(&recorded);
                (recorded, vec![created])
            }
            (_, Reviewer::Pending) => {
                let created = Event::created(&held);
                (held, vec![created])
            }
            // Recorded like any other verdict, under a name that says that nobody looked (C11).
            (_, Reviewer::AutoApprove) => {
                let approved = Checkpoint {
                    status: CheckpointStatus::Approved,
                    resolved_at: Some(now),
                    reason: Some(AUTOMATIC.to_owned()),
                    resolved_by: Some(Reviewer::AutoApprove.name().to_owned()),
                    ..held.clone()
                };
                let events = vec![Event::created(&held), Event::resolved(&approved)];
                (approved, events)
            }
        };
        let commit = Commit {
            expected: Version(0),
            checkpoint: checkpoint.clone(),
            events,
            at: now,
            content: Some(content),
        };
        let version = Version(commit.events.len() as u64);
        match self.store.commit(commit).await {
            Ok(()) => {
                self.held.remember(&checkpoint, version);
                Ok(checkpoint)
            }
            // The id is taken: by the same submission, whose answer counts, or by another one.
            Err(CommitError::Conflict | CommitError::LeaseLost) => {
                let there = self.checkpoint_row(checkpoint.id.as_str()).await?.checkpoint;
                let seen = self.sees(by, there.id.as_str()).await?;
                if seen && there.same_submission(&checkpoint) {
                    Ok(there.standing_at(self.now()))
                } else {
                    Err(EngineError::OtherContent(there.id))
                }
            }
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }

    /// Gives a verdict; the checkpoint as it is afterwards.
    pub async fn give_verdict(
        &self,
        by: &Principal,
        id: &str,
        request: &VerdictRequest,
    ) -> Result<Checkpoint, EngineError> {
        require(by, Act::GiveVerdict)?;
        let silent = request.reason.as_ref().is_none_or(|reason| reason.trim().is_empty());
        // Nobody can do what they are not told; a rejection says enough by itself (R12).
        if silent && request.verdict == Verdict::RequestChanges {
            return Err(EngineError::Empty("message"));
        }
        let waiting = self.waiting_of(id).await?;
        let id = waiting.as_deref().unwrap_or(id);
        let only_reviews = !request.comments.is_empty() || request.start_over;
        if let Some(stored) = self.review_row(id).await? {
            return self.judge_review(by, stored, request).await;
        }
        if only_reviews {
            return Err(EngineError::NotAReview(id.to_owned()));
        }
        let digest = match &request.judged {
            Some(Judged::Digest(digest)) => Some(*digest),
            Some(Judged::Commit(_)) => return Err(EngineError::NotAReview(id.to_owned())),
            None => None,
        };
        if request.verdict == Verdict::Approve && !request.confirmed {
            self.check_shown(id).await?;
        }
        let tell = |next: &Checkpoint| Event::resolved_by(next, by);
        self.resolve(id, request.version, tell, |checkpoint| {
            if checkpoint.run.is_some() && request.verdict == Verdict::RequestChanges {
                return Err(Refusal::NothingToChange { id: checkpoint.id.clone() });
            }
            checkpoint.resolve(&GivenVerdict {
                verdict: request.verdict,
                reason: request.reason.clone().filter(|reason| !reason.trim().is_empty()),
                by: by.name.clone(),
                digest,
                // A clock that was set back must not answer before the question.
                at: self.now().max(checkpoint.created_at),
            })
        })
        .await
    }

    /// Whether a person can have seen all that waits here. What one id stands for never changes.
    async fn check_shown(&self, id: &str) -> Result<(), EngineError> {
        let view = self.view(self.checkpoint_row(id).await?).await?;
        let CheckpointView { checkpoint, content: Some(content), .. } = view else { return Ok(()) };
        let omissions = Omission::of_content(&content, checkpoint.run.is_some());
        if checkpoint.status == CheckpointStatus::Pending && !omissions.is_empty() {
            return Err(EngineError::NotShown { id: checkpoint.id, omissions });
        }
        Ok(())
    }

    /// Puts on record what nobody answered in time: a rejection, never an approval. Whoever lives and may write does
    /// this now and then; until then it counts as rejected all the same.
    pub async fn record_timeouts(&self) -> Result<(), EngineError> {
        loop {
            let overdue = self.store.overdue_checkpoints(self.now(), OVERDUE_MAX).await?;
            for stored in &overdue {
                self.time_out(stored.checkpoint.id.as_str()).await?;
            }
            if overdue.len() < OVERDUE_MAX {
                return Ok(());
            }
        }
    }

    /// The checkpoint as it is once its timeout is on record, if it has timed out.
    pub(crate) async fn time_out(&self, id: &str) -> Result<Checkpoint, EngineError> {
        loop {
            let StoredCheckpoint { checkpoint, version, .. } = self.checkpoint_row(id).await?;
            let Some(rejected) = checkpoint.timed_out(self.now()) else { return Ok(checkpoint) };
            let commit = Commit {
                expected: version,
                events: vec![Event::resolved(&rejected)],
                at: rejected.resolved_at.unwrap_or_else(|| self.now()),
                checkpoint: rejected.clone(),
                content: None,
            };
            match self.store.commit(commit).await {
                Ok(()) => return Ok(rejected),
                Err(CommitError::Conflict | CommitError::LeaseLost) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
    }

    /// Takes back what a worker asked: whoever asked may, and an admin.
    pub async fn withdraw_checkpoint(
        &self,
        by: &Principal,
        id: &str,
        reason: Option<String>,
        expected: Option<Version>,
    ) -> Result<Checkpoint, EngineError> {
        require(by, Act::Withdraw)?;
        let asked = self.seen_checkpoint(by, id).await?.checkpoint;
        if asked.run.is_none() && !may_withdraw(by, &asked) {
            return Err(EngineError::OthersCheckpoint { id: asked.id, name: by.name.clone() });
        }
        let tell = |next: &Checkpoint| Event::resolved_by(next, by);
        self.resolve(id, expected, tell, |checkpoint| {
            checkpoint.withdraw(reason.clone(), by.name.clone(), self.now().max(checkpoint.created_at))
        })
        .await
    }

    pub async fn checkpoint(&self, by: &Principal, id: &str) -> Result<CheckpointView, EngineError> {
        require(by, Act::Read)?;
        let stored = self.seen_checkpoint(by, id).await?;
        self.view(stored).await
    }

    /// In creation order (C7).
    pub async fn checkpoints(
        &self,
        by: &Principal,
        filter: &CheckpointFilter,
        after: i64,
        limit: usize,
    ) -> Result<Page<StoredCheckpoint>, EngineError> {
        require(by, Act::Read)?;
        let now = self.now();
        let owner = sight(by).map(str::to_owned).or_else(|| filter.owner.clone());
        let filter = CheckpointFilter { owner, now: Some(now), ..filter.clone() };
        let mut page = self.store.checkpoints(&filter, after, limit).await?;
        for stored in &mut page.items {
            if let Some(rejected) = stored.checkpoint.timed_out(now) {
                stored.checkpoint = rejected;
            }
        }
        Ok(page)
    }

    /// Waits until the checkpoint is decided, or `at_most`; what it is then, perhaps still pending.
    pub async fn wait_for_checkpoint(
        &self,
        by: &Principal,
        id: &str,
        at_most: Option<Duration>,
    ) -> Result<CheckpointView, EngineError> {
        let decided = async {
            loop {
                let seen = self.checkpoint(by, id).await?;
                if seen.checkpoint.status != CheckpointStatus::Pending {
                    return Ok(seen);
                }
                let Some(left) = self.time_left(&seen.checkpoint) else {
                    return self.decided_checkpoint(by, id).await;
                };
                if let Ok(decided) = tokio::time::timeout(left, self.decided_checkpoint(by, id)).await {
                    return decided;
                }
            }
        };
        match at_most {
            None => decided.await,
            Some(at_most) => match tokio::time::timeout(at_most, decided).await {
                Ok(decided) => decided,
                Err(_) => self.checkpoint(by, id).await,
            },
        }
    }

    /// Waits until somebody decides the checkpoint. That its time runs out wakes nobody here: whoever waits sees to that.
    pub(crate) async fn decided_checkpoint(
        &self,
        by: &Principal,
        id: &str,
    ) -> Result<CheckpointView, EngineError> {
        require(by, Act::Read)?;
        let mut changes = self.store.changes()?;
        loop {
            changes.borrow_and_update();
            let stored = self.seen_checkpoint(by, id).await?;
            if stored.checkpoint.status != CheckpointStatus::Pending {
                return self.view(stored).await;
            }
            if changes.changed().await.is_err() {
                return Err(EngineError::Store(checkrein_store::StoreError::Closed));
            }
        }
    }

    /// How long a person has for the answer, where that is limited; a moment at least, so that waiting is waiting.
    pub(crate) fn time_left(&self, checkpoint: &Checkpoint) -> Option<Duration> {
        let left = checkpoint.expires_at?.duration_since(self.now());
        Some(Duration::try_from(left).unwrap_or_default().max(Duration::from_millis(1)))
    }

    /// Forgets every checkpoint with its events and contents; tokens stay. For tests.
    pub async fn clear_checkpoints(&self, by: &Principal) -> Result<(), EngineError> {
        require(by, Act::Clear)?;
        Ok(self.store.clear_checkpoints().await?)
    }

    /// Load, let the core decide, commit against the version it was decided on; again on a conflict.
    async fn resolve(
        &self,
        id: &str,
        expected: Option<Version>,
        tell: impl Fn(&Checkpoint) -> Event,
        settle: impl Fn(&Checkpoint) -> Result<Resolved, checkrein_core::checkpoint::Refusal>,
    ) -> Result<Checkpoint, EngineError> {
        let mut remembered = self.held.take(id);
        loop {
            let guessed = remembered.is_some();
            let (checkpoint, version) = match remembered.take() {
                Some(held) => held,
                None => self.checkpoint_row(id).await.map(|stored| (stored.checkpoint, stored.version))?,
            };
            match expect_version(id, expected, version) {
                Err(_) if guessed => continue,
                checked => checked?,
            }
            // What has timed out is put on record first: then the record refuses.
            if !guessed && checkpoint.timed_out(self.now()).is_some() {
                self.time_out(id).await?;
                continue;
            }
            let next = match settle(&checkpoint) {
                Ok(Resolved::Now(next)) => *next,
                // Only what is stored can refuse.
                _ if guessed => continue,
                Ok(Resolved::Already) => return Ok(checkpoint),
                Err(refusal) => return Err(refusal.into()),
            };
            let at = next.resolved_at.unwrap_or_else(|| self.now());
            let events = vec![tell(&next)];
            let commit = Commit { expected: version, checkpoint: next.clone(), events, at, content: None };
            match self.store.commit(commit).await {
                Ok(()) => return Ok(next),
                Err(CommitError::Conflict | CommitError::LeaseLost) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
    }

    /// The checkpoint, if it is the review of a job. What is open and remembered needs no look.
    /// The checkpoint a run waits at, by the whole id of the run. A part of it will not do: a mistake must not
    /// approve something else.
    async fn waiting_of(&self, id: &str) -> Result<Option<String>, EngineError> {
        if !RunId::looks_like(id) {
            return Ok(None);
        }
        match self.named_run(id).await {
            Ok(run) if run.as_str() != id => Ok(None),
            Ok(run) => {
                let view = self.load_run(&run).await?;
                let is_job = view.run.job().is_some();
                match view.checkpoint {
                    Some(checkpoint) => Ok(Some(checkpoint)),
                    None if is_job => Err(EngineError::NothingToReview(run)),
                    None => Err(EngineError::NothingToAnswer(run)),
                }
            }
            Err(EngineError::NoRun(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn review_row(&self, id: &str) -> Result<Option<StoredCheckpoint>, EngineError> {
        let run = id.split('.').next().unwrap_or_default();
        if run.len() == id.len() || !RunId::looks_like(run) {
            return Ok(None);
        }
        let stored = self.checkpoint_row(id).await?;
        let is_review = stored.checkpoint.run.is_some() && stored.checkpoint.kind == HoldKind::Review.name();
        Ok(is_review.then_some(stored))
    }

    pub(crate) async fn checkpoint_row(&self, id: &str) -> Result<StoredCheckpoint, EngineError> {
        let none = || EngineError::NoCheckpoint(id.to_owned());
        let id = CheckpointId::new(id).map_err(|_| none())?;
        self.store.checkpoint(&id).await?.ok_or_else(none)
    }

    pub(crate) async fn view(&self, stored: StoredCheckpoint) -> Result<CheckpointView, EngineError> {
        let StoredCheckpoint { checkpoint, version, .. } = stored;
        let content = self.store.content(&checkpoint.digest).await?;
        Ok(CheckpointView { checkpoint, content, version })
    }
}

/// Whoever made it, and an admin. An agent's name may be a person's as well, so each is known in its own way.
fn may_withdraw(by: &Principal, checkpoint: &Checkpoint) -> bool {
    match by.role {
        Role::Admin => true,
        Role::Agent => checkpoint.owner.as_ref() == Some(&by.name),
        _ => checkpoint.owner.is_none() && checkpoint.created_by.as_ref() == Some(&by.name),
    }
}

/// Refuses a change that was decided on another version.
pub(crate) fn expect_version(
    id: &str,
    expected: Option<Version>,
    actual: Version,
) -> Result<(), EngineError> {
    match expected {
        Some(expected) if expected != actual => {
            Err(EngineError::OtherVersion { id: id.to_owned(), expected, actual })
        }
        _ => Ok(()),
    }
}
