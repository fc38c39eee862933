//! How runs come to this process: from the queue, or by their names.

use std::path::Path;
use std::time::{Duration, Instant};

use checkrein_core::policy::OnTimeout;
use checkrein_core::principal::Principal;
use checkrein_core::run::job::Repository;
use checkrein_core::run::{Definition, Run, RunId, RunStatus};
use checkrein_store::{Claimed, Lease, Needs, Reach, Standing};
use jiff::Timestamp;

use super::HeldLease;
use crate::authority::{Act, require};
use crate::run::Place;
use crate::{Engine, EngineError};

/// A process that was killed may take a moment to be gone.
const BUSY_MAX: Duration = Duration::from_secs(2);
/// How often a run that somebody else has is asked for.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// A run that was claimed from the queue, to be driven.
pub struct ClaimedRun(pub(crate) HeldLease);

impl ClaimedRun {
    pub const fn id(&self) -> &RunId {
        self.0.run()
    }
}

impl Engine {
    /// Up to so many runs that can go on here, those first that have waited longest. They are this process's
    /// until they are driven or dropped.
    pub async fn claim_runs(&self, by: &Principal, count: usize) -> Result<Vec<ClaimedRun>, EngineError> {
        require(by, Act::StartRun)?;
        let since = Instant::now();
        let taken = self.store.claim_runs(self.leases.claimant(), count).await?;
        Ok(taken.into_iter().map(|lease| ClaimedRun(self.leases.keep(lease, None, since))).collect())
    }

    /// A run that was made for this process.
    pub(crate) fn claimed_new(&self, run: RunId, needs: &Needs, since: Instant) -> ClaimedRun {
        let lease =
            Lease { run, epoch: 1, due: None, left_behind: false, pinned: needs.host.clone(), home: None };
        ClaimedRun(self.leases.keep(lease, None, since))
    }

    /// Takes the lock of a run that was claimed. A process that did not renew its lease and stands still may have
    /// it for ever: then it is passed by, and finds its lease gone when it wakes.
    pub(crate) async fn lock_claimed(&self, mut held: HeldLease) -> Result<HeldLease, EngineError> {
        let place = Place::of(&self.store, held.run());
        held.lock = place.wait_for_lock(BUSY_MAX).await?;
        if held.lock.is_none() {
            if !held.lease.left_behind {
                return Err(EngineError::RunBusy(held.run().clone()));
            }
            self.store.set_lease_locked(held.run().to_string(), held.epoch(), false).await?;
        }
        Ok(held)
    }

    /// Takes one run, whether or not it is to go on.
    pub(crate) async fn take_run(&self, id: &RunId, reach: Reach) -> Result<HeldLease, EngineError> {
        let place = Place::of(&self.store, id);
        let begun = Instant::now();
        let lock = place.wait_for_lock(BUSY_MAX).await?;
        let standing = if lock.is_some() { Standing::Locked } else { Standing::Unlocked };
        let refused = loop {
            let since = Instant::now();
            let claimant = self.leases.claimant();
            match self.store.claim_run(id.to_string(), claimant, standing, reach).await? {
                Claimed::Taken(lease) => {
                    let held = self.leases.keep(lease, lock, since);
                    if standing == Standing::Unlocked {
                        self.store.set_lease_locked(id.to_string(), held.epoch(), false).await?;
                    }
                    return Ok(held);
                }
                Claimed::NoRun => return Err(EngineError::NoRun(id.to_string())),
                Claimed::Refused(row) if begun.elapsed() >= BUSY_MAX => break row,
                Claimed::Refused(row) if row.holder.is_none() && standing == Standing::Locked => break row,
                Claimed::Refused(_) => tokio::time::sleep(ASK_EVERY).await,
            }
        };
        match refused.pinned {
            Some(host) if reach == Reach::Here && host != self.leases.host() => {
                Err(EngineError::RunElsewhere { id: id.clone(), host: super::host_name(&host).to_owned() })
            }
            _ => Err(EngineError::RunBusy(id.clone())),
        }
    }

    /// Ends leases of processes of this host that are gone: nobody need wait for their terms.
    pub async fn free_left_runs(&self) -> Result<(), EngineError> {
        for row in self.store.leases().await? {
            let Some(holder) = &row.holder else { continue };
            let gone = holder.host == self.leases.host() && !self.is_held(&row.run, holder);
            if gone && !holder.expired {
                self.store.abandon_lease(row.run.to_string(), row.epoch).await?;
            }
        }
        Ok(())
    }

    /// Where a new run can go on.
    pub(crate) fn needs_of_new(&self, definition: &Definition) -> Needs {
        let requires = definition.plan.requires.iter().map(ToString::to_string).collect();
        let source = definition.job.as_deref().map(|job| match &job.repository {
            Repository::Own => None,
            Repository::Existing { directory, .. } => Some(directory.as_str()),
        });
        let forge = definition.job.as_deref().and_then(|job| job.forge.as_ref()).filter(|at| !at.made);
        let place = source.unwrap_or(Some(definition.directory.as_str()));
        let files_shared = definition.job.is_none() || self.is_shared_place(self.store.directory());
        let anywhere = !self.store.is_shared()
            || files_shared && place.is_none_or(|place| self.is_shared_place(place.as_ref()));
        let host = (!anywhere).then(|| self.leases.host().to_owned());
        let repository = place.map(|place| match (forge, &host) {
            // A repository of a forge is the same one wherever a job in it goes on.
            (Some(at), _) if self.store.is_shared() => format!("{}/{}", at.url, at.repository),
            (_, Some(host)) => format!("{host}:{place}"),
            (_, None) => place.to_owned(),
        });
        Needs { requires, host, repository, wake_in: None }
    }

    /// What a run needs after a change.
    pub(crate) fn needs_of(&self, run: &Run) -> Needs {
        let wake_in = match run.state.status {
            RunStatus::Paused => retry_in(run, self.now()),
            _ => answer_in(run).into_iter().chain(self.watched_again(run)).min(),
        };
        let requires = run.requires().iter().map(ToString::to_string).collect();
        Needs { requires, wake_in, ..Needs::default() }
    }

    /// Whether every machine of the store sees a directory or file.
    pub(crate) fn is_shared_place(&self, directory: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let place = real(directory);
        let shared = self.settings.machine().into_iter().flat_map(|machine| &machine.shared);
        shared.map(Path::new).any(|shared| shared.is_absolute() && place.starts_with(real(shared)))
    }
}

/// How long a paused run waits until it is resumed by itself.
pub(crate) fn retry_in(run: &Run, now: Timestamp) -> Option<Duration> {
    let at = run.state.retry_at.filter(|_| run.state.status == RunStatus::Paused)?;
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

/// How long a person has for the answer a run waits for, where that is limited.
fn answer_in(run: &Run) -> Option<Duration> {
    let policy = run.policy();
    let held = run.state.status == RunStatus::Held;
    policy.timeout.filter(|_| held && policy.on_timeout == OnTimeout::Reject)
}
