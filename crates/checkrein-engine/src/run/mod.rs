//! Runs: start, drive, look, cancel.
//!
//! Each cycle loads the run, lets the core decide, commits what came of it, and only then does what is
//! to be done. Whatever dies in between is found again in the store.

mod attempt;
mod cancel;
mod driver;
mod edit;
mod log;
mod output;
mod place;
mod resume;
mod sweep;
mod target;

use std::sync::Arc;
use std::time::Instant;

use checkrein_core::deliverable::Deliverable;
use checkrein_core::event::Event;
use checkrein_core::principal::Principal;
use checkrein_core::report::Report;
use checkrein_core::run::job::Isolation;
use checkrein_core::run::{Definition, Run, RunEvent, RunId, RunStatus};
use checkrein_store::{CommitError, Page, RunCommit, RunFilter, RunRow, Store, StoredRun, Version};
use jiff::Timestamp;
use uuid::Uuid;

use crate::authority::{Act, require};
use crate::job::GivenFrom;
use crate::request::Nonce;
use crate::sight::{owner, sight};
use crate::{ClaimedRun, Engine, EngineError, job};

pub use attempt::output_name;
pub(crate) use attempt::{Performed, Performer, Supervised, count_failed_commands, redact, secrets_of};
pub use driver::{Driver, Rest, Watch};
pub use edit::edit;
pub use output::AttemptOutput;
pub use place::OutputFiles;
pub(crate) use place::Place;
pub use sweep::SweptRuns;
pub use target::git_branch;

/// What happened in a run: the number of each event, when, and what.
pub type History = Vec<(u64, Timestamp, RunEvent)>;

/// A run with everything that happened in it.
#[derive(Clone, Debug)]
pub struct RunView {
    pub row: RunRow,
    pub run: Run,
    pub history: History,
    /// The checkpoint it waits at.
    pub checkpoint: Option<String>,
    /// The lease it is driven under, for whoever does.
    pub epoch: Option<u64>,
}

impl RunView {
    pub fn report(&self, now: Timestamp) -> Report {
        Report::of(&self.run, self.history.iter().map(|(seq, at, event)| (*seq, *at, event)), 0, now)
    }

    /// When what it waits for counts as a no, where the policy says so.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.checkpoint.as_ref()?;
        let mut holds = self.history.iter().rev();
        let held_at =
            holds.find_map(|(_, at, event)| matches!(event, RunEvent::RunHeld { .. }).then_some(*at));
        self.run.policy().deadline(held_at?)
    }
}

/// Who goes on with a new run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Anybodys,
    /// This process.
    Ours,
}

/// Whether a process on this machine drives a run.
pub(crate) fn is_driven(store: &Store, id: &RunId) -> bool {
    !place::Place::at(store, id).is_free()
}

impl Engine {
    /// Records a new run; nothing happens yet.
    pub async fn create_run(
        &self,
        by: &Principal,
        definition: Definition,
        rerun_of: Option<String>,
    ) -> Result<RunId, EngineError> {
        self.create_run_once(by, definition, rerun_of, None).await
    }

    /// Records a new run for whoever drives it right away: nobody else takes it up in between.
    pub async fn start_run(
        &self,
        by: &Principal,
        definition: Definition,
        rerun_of: Option<String>,
    ) -> Result<ClaimedRun, EngineError> {
        let (since, needs) = (Instant::now(), self.needs_of_new(&definition));
        let id = self.record_run(by, definition, rerun_of, None, Whose::Ours).await?;
        Ok(self.claimed_new(id, &needs, since))
    }

    /// The same for a request that may be sent again: its run is there once.
    pub async fn create_run_once(
        &self,
        by: &Principal,
        definition: Definition,
        rerun_of: Option<String>,
        nonce: Option<Nonce>,
    ) -> Result<RunId, EngineError> {
        self.record_run(by, definition, rerun_of, nonce, Whose::Anybodys).await
    }

    async fn record_run(
        &self,
        by: &Principal,
        definition: Definition,
        rerun_of: Option<String>,
        mut nonce: Option<Nonce>,
        whose: Whose,
    ) -> Result<RunId, EngineError> {
        require(by, Act::StartRun)?;
        let json =
            serde_json::to_value(&definition).map_err(|error| EngineError::Definition(error.to_string()))?;
        let content = Deliverable::Json(json).content()?;
        let definition = Arc::new(definition);
        loop {
            let now = self.now();
            let created = RunEvent::RunCreated {
                workflow: definition.plan.workflow.clone(),
                target: definition.target.clone(),
                work_id: definition.work_id.clone(),
                definition: content.digest,
                rerun_of: rerun_of.clone(),
                by: by.name.clone(),
            };
            let id = nonce.map_or_else(|| new_id(now, Uuid::new_v4()), id_of);
            let (run, applied) = Run::create(id, Arc::clone(&definition), created, now);
            let row = RunRow {
                id: run.id.clone(),
                workflow: definition.plan.workflow.clone(),
                target: definition.target.clone(),
                work_id: definition.work_id.clone(),
                rerun_of: rerun_of.clone(),
                owner: owner(by),
                definition: content.digest,
                state: run.state,
            };
            let commit = RunCommit {
                expected: Version(0),
                run: row,
                events: applied.events,
                at: now,
                definition: Some(content.clone()),
                checkpoint: None,
                needs: self.needs_of_new(&definition),
                epoch: None,
                claim: (whose == Whose::Ours).then(|| self.leases.claimant()),
            };
            match self.store.commit_run(commit).await {
                Ok(()) => return Ok(run.id),
                Err(CommitError::Conflict) => {
                    let there = self.store.run(run.id.as_str()).await?;
                    let ours = there.is_some_and(|there| there.run.definition == content.digest);
                    if nonce.take().is_some() && ours {
                        return Ok(run.id);
                    }
                    // Somebody made the same id in the same second.
                }
                Err(CommitError::LeaseLost) => return Err(EngineError::LeaseLost(run.id)),
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
    }

    /// The same work again, under a new id (W18).
    pub async fn rerun(&self, by: &Principal, id: &str) -> Result<RunId, EngineError> {
        self.rerun_from(GivenFrom::Here, by, id, None, None).await
    }

    /// The same for a request over HTTP that may be sent again, of a run that is still at this version.
    pub async fn rerun_once(
        &self,
        by: &Principal,
        id: &str,
        expected: Option<Version>,
        nonce: Option<Nonce>,
    ) -> Result<RunId, EngineError> {
        self.rerun_from(GivenFrom::Http, by, id, expected, nonce).await
    }

    async fn rerun_from(
        &self,
        from: GivenFrom,
        by: &Principal,
        id: &str,
        expected: Option<Version>,
        nonce: Option<Nonce>,
    ) -> Result<RunId, EngineError> {
        let view = self.load_run(&self.seen_run(by, id).await?).await?;
        view.expect_version(expected)?;
        // A new run begins where the policy began: what a person ended or changed, a person begins again.
        if was_decided(&view) {
            require(by, Act::ManageRuns)?;
        }
        let mut definition = Definition::clone(&view.run.definition);
        if let Some(job) = &mut definition.job {
            job.isolation = job::choose_isolation(&self.settings, from, job.isolation == Isolation::Sandbox)?;
        }
        let rerun_of = Some(view.row.id.to_string());
        if view.run.job().is_none() {
            return self.create_run_once(by, definition, rerun_of, nonce).await;
        }
        let forge = view.run.job().and_then(|(definition, _)| definition.forge.clone());
        let files = |id: &RunId| {
            job::hand_on(self, &view.row.id, id)?;
            forge.iter().try_for_each(|at| crate::forge::Pace::of(self, id).begin(at, id, self.now()))
        };
        self.create_with_files(by, definition, (rerun_of, nonce), Whose::Anybodys, files).await
    }

    /// Records a run that needs files. They are there first: a worker may take it up the moment it is
    /// recorded.
    pub(crate) async fn create_with_files(
        &self,
        by: &Principal,
        definition: Definition,
        (rerun_of, nonce): (Option<String>, Option<Nonce>),
        whose: Whose,
        make: impl Fn(&RunId) -> Result<(), EngineError>,
    ) -> Result<RunId, EngineError> {
        let nonce = nonce.unwrap_or_else(|| Nonce::new(self.now()));
        let id = id_of(nonce);
        // One that is there was recorded by the same request, and has them.
        let there = self.store.run(id.as_str()).await?.is_some();
        if !there {
            make(&id)?;
        }
        match self.record_run(by, definition, rerun_of, Some(nonce), whose).await {
            Ok(made) if made == id => Ok(made),
            // Somebody else had the id.
            Ok(made) => make(&made).map(|()| made),
            Err(error) => {
                if !there {
                    job::forget(self, &id);
                }
                Err(error)
            }
        }
    }

    pub async fn run(&self, by: &Principal, id: &str) -> Result<RunView, EngineError> {
        require(by, Act::Read)?;
        self.load_run(&self.seen_run(by, id).await?).await
    }

    /// Where the captured output of an attempt lies, by the name the attempt gives.
    pub fn output_files(&self, id: &RunId, name: &str) -> OutputFiles {
        place::Place::at(&self.store, id).output(name)
    }

    /// The newest first.
    pub async fn runs(
        &self,
        by: &Principal,
        filter: &RunFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<StoredRun>, EngineError> {
        require(by, Act::Read)?;
        let own = sight(by).map(|owner| RunFilter { owner: Some(owner.to_owned()), ..filter.clone() });
        Ok(self.store.runs(own.as_ref().unwrap_or(filter), before, limit).await?)
    }

    /// The level a listed run is at; none where its policy has no name.
    pub async fn level_of(&self, by: &Principal, row: &RunRow) -> Result<Option<String>, EngineError> {
        require(by, Act::Read)?;
        let changed = row.state.job.as_ref().and_then(|job| job.policy.as_deref());
        match changed {
            Some(policy) => Ok(policy.level.clone()),
            None => Ok(self.definition(&row.definition).await?.policy.level.clone()),
        }
    }

    /// The run a person means: by its id, or by a beginning or end of it that no other has.
    pub(crate) async fn named_run(&self, text: &str) -> Result<RunId, EngineError> {
        if self.store.run_version(text).await? > Version(0) {
            return Ok(RunId::new(text));
        }
        let mut named = if text.is_empty() { Vec::new() } else { self.store.runs_named(text).await? };
        match (named.pop(), named.pop()) {
            (Some(one), None) => Ok(one),
            (Some(one), Some(other)) => {
                Err(EngineError::SeveralRuns { text: text.to_owned(), one: other, other: one })
            }
            _ => Err(EngineError::NoRun(text.to_owned())),
        }
    }

    pub(crate) async fn load_run(&self, id: &RunId) -> Result<RunView, EngineError> {
        let none = || EngineError::NoRun(id.to_string());
        let row = self.store.run(id.as_str()).await?.ok_or_else(none)?.run;
        let definition = self.definition(&row.definition).await?;
        let mut history = Vec::new();
        for stored in self.store.history(id.as_str()).await? {
            if let Event::Run(event) = stored.event {
                history.push((stored.seq, stored.at, event));
            }
        }
        // Between the two reads it may have gone on; what is told ends where the state is.
        history.retain(|(seq, ..)| *seq <= row.state.version);
        let run = Run { id: row.id.clone(), definition, state: row.state.clone() };
        let held = run.state.hold.as_ref().filter(|_| run.state.status == RunStatus::Held);
        let checkpoint = held.map(|hold| run.id.checkpoint(hold));
        Ok(RunView { row, run, history, checkpoint, epoch: None })
    }

    /// Loads a run again, for whoever has it.
    pub(crate) async fn reload(&self, view: &mut RunView) -> Result<(), EngineError> {
        let epoch = view.epoch;
        *view = RunView { epoch, ..self.load_run(&view.run.id).await? };
        Ok(())
    }

    pub(crate) async fn definition(
        &self,
        digest: &checkrein_core::deliverable::Digest,
    ) -> Result<Arc<Definition>, EngineError> {
        let content = self.store.content(digest).await?;
        let content = content.ok_or_else(|| EngineError::Definition("it is not in the store".to_owned()))?;
        serde_json::from_slice(&content.bytes)
            .map(Arc::new)
            .map_err(|error| EngineError::Definition(error.to_string()))
    }
}

/// Whether somebody decided how it goes: stopped it, changed how far it may go, or said no.
fn was_decided(view: &RunView) -> bool {
    let decided = |event: &RunEvent| {
        matches!(
            event,
            RunEvent::PolicyChanged { .. }
                | RunEvent::RunPaused { .. }
                | RunEvent::RunCancelled { .. }
                | RunEvent::HoldRejected { .. }
                | RunEvent::ChangesRequested { .. }
        )
    };
    view.history.iter().any(|(_, _, event)| decided(event))
}

/// The id a run gets that is made under a key.
pub(crate) fn id_of(nonce: Nonce) -> RunId {
    new_id(nonce.at, nonce.uuid())
}

/// When it was made, and a word that no other run of that second has: short enough to type.
fn new_id(now: Timestamp, random: Uuid) -> RunId {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let random = random.as_u128();
    let word: String = (0..5)
        .filter_map(|place| {
            let index = usize::try_from((random >> (place * 5)) & 31).ok()?;
            LETTERS.get(index).map(|letter| char::from(*letter))
        })
        .collect();
    RunId::new(format!("{}-{word}", now.strftime("%Y%m%d-%H%M%S")))
}
