//! A job comes to this machine: its files are made anew of what its forge has.

use std::sync::Arc;

use checkrein_core::run::job::{JobDefinition, Repository};
use checkrein_core::run::{Effect, Run, RunStatus};
use checkrein_forge::{Bare, Oid, Remote};
use checkrein_store::Stays;

use super::look::forge_of;
use super::pace::Went;
use super::show::off;
use super::{LookError, Pace};
use crate::job::{JobPlace, JobRepository, find_git, identities, names_of};
use crate::lease::HeldLease;
use crate::run::{Place, RunView};
use crate::{Engine, EngineError, now};

/// So often somebody may push while a branch is taken over.
const TRIES: usize = 5;

/// Makes sure that the files of a job are here, before anything else is done with them; the trouble where they cannot
/// be had now.
pub(crate) async fn arrive(
    engine: &Engine,
    view: &mut RunView,
    lease: &HeldLease,
) -> Result<Option<String>, EngineError> {
    let at = match forge_of(&view.run) {
        Some(at) if engine.roams(&view.run) && !view.run.state.status.is_over() => at,
        _ => return Ok(None),
    };
    let (id, place) = (view.run.id.clone(), JobPlace::of(&engine.store, &view.run.id));
    place.make()?;
    if lease.home().is_none_or(|home| home == engine.leases.host()) {
        place.set_epoch(lease.epoch())?;
        return Ok(None);
    }
    let pace = Pace::of(engine, &id);
    match fetch(engine, &view.run, lease).await {
        Ok(()) => {
            lease.set_place(Stays::Nowhere).await?;
            pace.begin(&at, &id, engine.now())?;
            Ok(None)
        }
        Err(LookError::Engine(error)) => Err(error),
        Err(LookError::Trouble(trouble)) => {
            engine.set_trouble(view, Some(trouble.text.clone())).await?;
            let went = Went::Failed { retry_after: trouble.retry_after };
            pace.went(&at, &id, went, engine.poll(), engine.now())?;
            Ok(Some(trouble.text))
        }
    }
}

async fn fetch(engine: &Engine, run: &Run, lease: &HeldLease) -> Result<(), LookError> {
    let Some(at) = forge_of(run) else { return Ok(()) };
    let connected = engine.connect(&at, &run.id).await?.found(engine, &at, run).await?;
    let (run, remote, epoch) = (run.clone(), Arc::clone(&connected.remote), lease.epoch());
    let place = JobPlace::of(&engine.store, &run.id);
    off(move || {
        place.set_epoch(epoch)?;
        let bare = renewed(&run, &place, &remote)?;
        // All of each address is in the record, else the job would have stayed where it was.
        if let Some((definition, _)) = run.job().filter(|_| place.addresses_kept().is_empty()) {
            let sources = definition.datasources.iter();
            let told: Vec<_> = sources.map(|source| (source.name.clone(), source.shown.clone())).collect();
            place.keep_addresses(&told)?;
        }
        bare.discard_clone(&place.clone())?;
        bare.discard_rested(&place.clone())?;
        // What is approved is merged as it is, and what waits for a person is looked at as it is: nothing more is pushed
        // to either. What an agent was at, it may still push.
        let attempted = run.state.status == RunStatus::Running && !matches!(run.due(), Some(Effect::Land));
        if attempted { fence(&run, &bare, &remote, epoch) } else { Ok(()) }
    })
    .await
}

/// The branches of a job as they are in the forge.
fn renewed(run: &Run, place: &JobPlace, remote: &Remote) -> Result<Bare, LookError> {
    let Some((definition, job)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone()).into()) };
    let (git, names) = (find_git()?, names_of(&run.id, definition)?);
    if !place.repository().exists() {
        place.set_copy()?;
    }
    let bare =
        Bare::create_there(&git, &place.repository(), names.clone(), remote, start(definition).as_ref())?;
    let branch = names.phase(job.phase.number, job.phase.kind(), job.phase.revision);
    if bare.renew(remote, &names.main(), None)?.is_none() {
        return Err(LookError::trouble(format!("branch `{}` is not in the forge", names.main())));
    }
    bare.renew(remote, &branch, job.pull().map(|pull| pull.number))?;
    Ok(bare)
}

fn fence(run: &Run, bare: &Bare, remote: &Remote, epoch: u64) -> Result<(), LookError> {
    let Some((_, job)) = run.job() else { return Ok(()) };
    let names = bare.names();
    let branch = names.phase(job.phase.number, job.phase.kind(), job.phase.revision);
    let (engine, _) = identities()?;
    for _ in 0..TRIES {
        // One that is not there yet could be made by whoever had the job.
        if bare.head(&branch)?.is_none()
            && let Some(main) = bare.head(&names.main())?
        {
            bare.cut_branch(&branch, &main)?;
        }
        if bare.fence(remote, &branch, epoch, &engine.at(now().as_second()))? {
            return Ok(());
        }
        bare.renew(remote, &branch, None)?;
    }
    Err(LookError::trouble(format!("branch `{branch}` moves in the forge all the time")))
}

impl Engine {
    /// Whether the files of a job are on another machine, and what is here of it is a copy at best.
    async fn is_away(&self, run: &Run) -> Result<bool, EngineError> {
        if !self.roams(run) {
            return Ok(false);
        }
        let row = self.store.lease(run.id.as_str()).await?;
        let home = row.and_then(|row| row.pinned.or(row.home));
        Ok(home.is_some_and(|home| home != self.leases.host()))
    }

    /// For whoever looks at a job: where its files are on another machine, the branches are brought here as its forge has
    /// them. Where they cannot be had, what is here has to do.
    pub(crate) async fn at_hand(&self, run: &Run) -> Result<(), EngineError> {
        let Some(at) = forge_of(run).filter(|_| is_at_work(run.state.status)) else {
            return Ok(());
        };
        if !self.is_away(run).await? {
            return Ok(());
        }
        let (own, place) = (run.clone(), JobPlace::of(&self.store, &run.id));
        // Whoever drives it here brings it here.
        let Some(_lock) = Place::of(&self.store, &run.id).lock()? else { return Ok(()) };
        let known = crate::job::blocking(move || Ok(is_known(&own, &place))).await?;
        if known {
            return Ok(());
        }
        let Ok(connected) = self.connect(&at, &run.id).await else { return Ok(()) };
        let (run, remote) = (run.clone(), Arc::clone(&connected.remote));
        let place = JobPlace::of(&self.store, &run.id);
        place.make()?;
        let fetched = off(move || renewed(&run, &place, &remote).map(drop)).await;
        match fetched {
            Ok(()) | Err(LookError::Trouble(_)) => Ok(()),
            Err(LookError::Engine(error)) => Err(error),
        }
    }
}

/// Whether a job has branches in its forge: they come with its beginning and go with its end.
fn is_at_work(status: RunStatus) -> bool {
    status != RunStatus::Created && !status.is_over()
}

/// Whether what the record of a phase names is here.
fn is_known(run: &Run, place: &JobPlace) -> bool {
    let Ok(repository) = JobRepository::look(run, place) else { return false };
    let Some((_, job)) = run.job() else { return true };
    let head = repository.bare.head(&repository.branch(&job.phase)).ok().flatten();
    head.is_some_and(|head| job.phase.work.as_ref().is_some_and(|work| work.head == head.as_str()))
}

fn start(definition: &JobDefinition) -> Option<Oid> {
    match &definition.repository {
        Repository::Own => None,
        Repository::Existing { commit, .. } => Oid::parse(commit).ok(),
    }
}
