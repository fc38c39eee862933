//! The work of an agent goes to the forge as it is committed, so that another machine can go on from there.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use checkrein_core::run::Run;
use checkrein_forge::{Collect, Oid, Pushed, Remote};
use checkrein_store::Stays;

use super::LookError;
use super::connect::Connected;
use super::look::forge_of;
use super::show::{off, push};
use crate::job::{JobPlace, JobRepository, limits, take_back};
use crate::lease::HeldLease;
use crate::{Engine, EngineError, now};

/// How often somebody looks whether an agent has committed something.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// So long the end of an attempt waits for a push.
const PUSH_MAX: Duration = Duration::from_secs(5);
const FAILED_FIRST: Duration = Duration::from_secs(5);
const FAILED_MAX: Duration = Duration::from_secs(60);

/// Looks after one attempt.
pub(crate) struct Along {
    clone: PathBuf,
    /// Held while commits are taken out of the clone.
    taking: Arc<Mutex<()>>,
    /// Held while they are pushed.
    pushing: Arc<Mutex<()>>,
    over: Arc<AtomicBool>,
}

impl Along {
    pub fn of(clone: PathBuf) -> Along {
        Along { clone, taking: Arc::default(), pushing: Arc::default(), over: Arc::default() }
    }

    /// Takes and pushes what the agent commits. It has no end; it is polled as long as the agent works.
    pub async fn go(&self, engine: &Engine, run: &Run, lease: &HeldLease) {
        if !engine.roams(run) {
            return std::future::pending().await;
        }
        let (mut connected, mut failures) = (None, 0_u32);
        let mut troubled = run.job().is_some_and(|(_, job)| job.trouble.is_some());
        // Whether something is here that the forge does not have.
        let mut ahead = true;
        loop {
            let went = self.once(engine, run, lease, &mut connected, &mut ahead).await;
            let rest = match &went {
                Ok(()) => LOOK_EVERY,
                Err(_) => FAILED_FIRST.saturating_mul(2_u32.saturating_pow(failures.min(8))).min(FAILED_MAX),
            };
            failures = if went.is_ok() { 0 } else { failures.saturating_add(1) };
            // That it cannot be written down is tried again as well.
            match went {
                Ok(()) if troubled => troubled = note(engine, run, lease, None).await.is_err(),
                Ok(()) => {}
                Err(LookError::Trouble(trouble)) => {
                    connected = None;
                    troubled = true;
                    let _ = note(engine, run, lease, Some(trouble.text)).await;
                }
                Err(LookError::Engine(_)) => connected = None,
            }
            tokio::time::sleep(rest).await;
        }
    }

    async fn once(
        &self,
        engine: &Engine,
        run: &Run,
        lease: &HeldLease,
        connected: &mut Option<Connected>,
        ahead: &mut bool,
    ) -> Result<(), LookError> {
        *ahead |= self.take(engine, run).await?;
        if !*ahead || lease.is_lost() {
            return Ok(());
        }
        let connected = match connected {
            Some(connected) => connected,
            None => connected.insert(reach(engine, run).await?),
        };
        let brought = bring(engine, run, &connected.remote, &self.pushing).await?;
        *ahead = false;
        if brought == Brought::All && lease.stays() == Stays::There {
            lease.set_place(Stays::Nowhere).await?;
        }
        Ok(())
    }

    /// Whether there was anything new.
    async fn take(&self, engine: &Engine, run: &Run) -> Result<bool, LookError> {
        let (run, place) = (run.clone(), JobPlace::of(&engine.store, &run.id));
        let (clone, taking, over) = (self.clone.clone(), Arc::clone(&self.taking), Arc::clone(&self.over));
        off(move || {
            let _taking = taking.lock().unwrap_or_else(PoisonError::into_inner);
            if over.load(Ordering::Acquire) {
                return Ok(false);
            }
            let repository = JobRepository::look(&run, &place)?;
            let Some((definition, job)) = run.job() else { return Ok(false) };
            let taken = repository.bare.take_commits(&Collect {
                clone: &clone,
                branch: &repository.branch(&job.phase),
                agent: &repository.agent,
                engine: &repository.engine,
                at_seconds: now().as_second(),
                message: "",
                limits: limits(definition),
            })?;
            Ok(taken.is_some())
        })
        .await
    }

    /// Ready when nobody takes anything out of the clone any more. A push that is under way is waited for, for a while: it
    /// does no harm, but the next one would meet it.
    pub async fn end(&self) {
        self.over.store(true, Ordering::Release);
        let free = |mutex: &Arc<Mutex<()>>| {
            let mutex = Arc::clone(mutex);
            tokio::task::spawn_blocking(move || drop(mutex.lock().unwrap_or_else(PoisonError::into_inner)))
        };
        let _ = free(&self.taking).await;
        let _ = tokio::time::timeout(PUSH_MAX, free(&self.pushing)).await;
    }
}

/// What became of a job's branches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Brought {
    /// The forge has everything.
    All,
    /// Somebody has pushed to the branch meanwhile, or work waits beside it.
    Some,
}

/// Brings the branches of a job to its forge, and says whether it can go on elsewhere. That the forge is away is no
/// trouble of whoever works: it is shown, and the job stays here until it was done.
pub(crate) async fn entrust(engine: &Engine, run: &Run, lease: &HeldLease) -> Result<(), EngineError> {
    if !engine.roams(run) || engine.job_repository(&run.id).is_none() {
        return Ok(());
    }
    let brought = brought(engine, run).await;
    let stays = match brought {
        Ok(Brought::All) => Stays::Nowhere,
        Ok(Brought::Some) => Stays::There,
        Err(LookError::Trouble(trouble)) => {
            note(engine, run, lease, Some(trouble.text)).await?;
            Stays::There
        }
        Err(LookError::Engine(error)) => return Err(error),
    };
    if lease.stays() != stays {
        lease.set_place(stays).await?;
    }
    Ok(())
}

/// The same for an attempt that was ended: what is in its clone goes along.
pub(crate) async fn entrust_left(engine: &Engine, run: &Run, lease: &HeldLease) -> Result<(), EngineError> {
    if !engine.roams(run) {
        return Ok(());
    }
    let (own, place, at) = (run.clone(), JobPlace::of(&engine.store, &run.id), now().as_second());
    crate::job::blocking(move || {
        let repository = JobRepository::look(&own, &place)?;
        let Some((definition, job)) = own.job() else { return Ok(()) };
        take_back(&repository, definition, &repository.branch(&job.phase), &place.clone(), at).map(drop)
    })
    .await?;
    entrust(engine, run, lease).await
}

/// Brings the branches of a job to its forge.
pub(super) async fn brought(engine: &Engine, run: &Run) -> Result<Brought, LookError> {
    let connected = reach(engine, run).await?;
    let pushing = Arc::default();
    match bring(engine, run, &connected.remote, &pushing).await? {
        // Perhaps by somebody who was pushing the same.
        Brought::Some => bring(engine, run, &connected.remote, &pushing).await,
        Brought::All => Ok(Brought::All),
    }
}

/// Whether the forge has the head of a phase's branch, or takes it now. A job that stays here does not need it to.
pub(crate) async fn has(engine: &Engine, run: &Run, head: &Oid) -> Result<bool, EngineError> {
    let row = engine.store.lease(run.id.as_str()).await?;
    if row.is_some_and(|row| row.pinned.is_some()) {
        return Ok(true);
    }
    let (own, place, wanted) = (run.clone(), JobPlace::of(&engine.store, &run.id), head.clone());
    let known = crate::job::blocking(move || {
        let repository = JobRepository::look(&own, &place)?;
        let Some((_, job)) = own.job() else { return Ok(false) };
        Ok(repository.bare.was_there(&repository.branch(&job.phase), &wanted)?)
    });
    if known.await? {
        return Ok(true);
    }
    match brought(engine, run).await {
        Ok(brought) => Ok(brought == Brought::All),
        Err(LookError::Trouble(_)) => Ok(false),
        Err(LookError::Engine(error)) => Err(error),
    }
}

async fn reach(engine: &Engine, run: &Run) -> Result<Connected, LookError> {
    let Some(at) = forge_of(run) else { return Err(EngineError::NotAJob(run.id.clone()).into()) };
    engine.connect(&at, &run.id).await?.found(engine, &at, run).await
}

/// Pushes the job's main branch and that of its phase.
async fn bring(
    engine: &Engine,
    run: &Run,
    remote: &Arc<Remote>,
    pushing: &Arc<Mutex<()>>,
) -> Result<Brought, LookError> {
    let (run, remote, pushing) = (run.clone(), Arc::clone(remote), Arc::clone(pushing));
    let place = JobPlace::of(&engine.store, &run.id);
    off(move || {
        let _pushing = pushing.lock().unwrap_or_else(PoisonError::into_inner);
        let repository = JobRepository::look(&run, &place)?;
        let Some((_, job)) = run.job() else { return Ok(Brought::Some) };
        let (main, branch) = (repository.names.main(), repository.branch(&job.phase));
        let heads = repository.bare.remote_heads(&remote, &[main.as_str(), branch.as_str()])?;
        let [main_there, there] = [0, 1].map(|index| heads.get(index).cloned().flatten());
        let here = repository.main()?;
        // That the forge has more is no harm: others go on with what it has.
        if main_there.as_ref() != Some(&here) {
            push(&repository, &remote, &here, main.as_str())?;
        }
        let Some(head) = repository.bare.head(&branch)? else { return Ok(Brought::All) };
        let mut brought = Brought::All;
        if there.as_ref() != Some(&head) {
            let pushed = push(&repository, &remote, &head, branch.as_str())?;
            brought = if pushed == Pushed::Done { Brought::All } else { Brought::Some };
        }
        // Work that did not fit is nowhere else.
        let beside = repository.bare.unmerged_work(&branch)?.is_some();
        Ok(if beside { Brought::Some } else { brought })
    })
    .await
}

/// Writes down what keeps the work from its forge, while somebody else has the run's view.
async fn note(
    engine: &Engine,
    run: &Run,
    lease: &HeldLease,
    text: Option<String>,
) -> Result<(), EngineError> {
    let mut view = engine.load_run(&run.id).await?;
    view.epoch = Some(lease.epoch());
    engine.set_trouble(&mut view, text).await
}
