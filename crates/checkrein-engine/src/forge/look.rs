//! One look at the forge of a job: both sides are brought together.

use std::time::Duration;

use checkrein_core::run::job::{ForgeAt, ForgeNews, Pull, Settled};
use checkrein_core::run::{Command, Effect, HoldKind, Run, RunId, RunStatus};
use checkrein_forge::{NewRemark, PullState, RemoteError, key_of, marked};
use checkrein_store::{After, Reach, Stays};

use super::connect::Connected;
use super::pace::Went;
use super::{LookError, Pace, Trouble, arrive, entrust, hear, show, tell};
use crate::run::{Place, RunView, is_driven};
use crate::{Engine, EngineError, LOOK_EVERY};

/// What came of a look at the forge of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    Done,
    /// Somebody drives the job, and sees to its forge.
    Driven,
}

/// So much later than it should be looked at nobody where its files are does it any more.
const LEFT_AFTER: Duration = Duration::from_secs(30);
/// So often somebody else may change the run while it is looked at.
const MOVED_MAX: usize = 20;

/// Looks at the forge of a job. Whoever calls has the run's lock. Trouble is recorded and is no error.
pub(crate) async fn attend(engine: &Engine, view: &mut RunView) -> Result<(), EngineError> {
    let Some(at) = forge_of(&view.run) else { return Ok(()) };
    let (id, pace) = (view.run.id.clone(), Pace::of(engine, &view.run.id));
    if !has_business(&view.run) {
        if is_over(&view.run) {
            pace.end();
        } else {
            pace.take_hint();
            pace.went(&at, &id, Went::Nothing, engine.poll(), engine.now())?;
        }
        return Ok(());
    }
    loop {
        // What happens from here on is a new hint.
        pace.take_hint();
        let before = view.run.state.version;
        let went = match look(engine, view, &at).await? {
            None => {
                engine.set_trouble(view, None).await?;
                if view.run.state.version == before { Went::Nothing } else { Went::News }
            }
            Some(trouble) => {
                engine.set_trouble(view, Some(trouble.text)).await?;
                Went::Failed { retry_after: trouble.retry_after }
            }
        };
        if is_over(&view.run) && !has_business(&view.run) {
            pace.end();
            return Ok(());
        }
        pace.went(&at, &id, went, engine.poll(), engine.now())?;
        // Whoever goes on with a run that was answered looks by themselves, and waits for our lock.
        if !pace.is_hinted() || matches!(went, Went::Failed { .. }) || !is_held(&view.run) {
            return Ok(());
        }
    }
}

/// The trouble there was, if any. Where somebody changed the run meanwhile, it is looked at again.
async fn look(engine: &Engine, view: &mut RunView, at: &ForgeAt) -> Result<Option<Trouble>, EngineError> {
    for _ in 0..MOVED_MAX {
        match once(engine, view, at).await {
            Ok(()) => return Ok(None),
            Err(LookError::Trouble(trouble)) => return Ok(Some(trouble)),
            Err(LookError::Engine(EngineError::RunMoved)) => engine.reload(view).await?,
            Err(LookError::Engine(error)) => return Err(error),
        }
    }
    Err(EngineError::RunMoved)
}

async fn once(engine: &Engine, view: &mut RunView, at: &ForgeAt) -> Result<(), LookError> {
    let connected = engine.connect(at, &view.run.id).await?.found(engine, at, &view.run).await?;
    let over = is_over(&view.run);
    let left = view.run.job().map(|(_, job)| job.left_open(over)).unwrap_or_default();
    for pull in left {
        farewell(engine, view, &connected, &pull).await?;
    }
    if over {
        return Ok(());
    }
    if is_held(&view.run) {
        let Some(shown) = show::show(engine, view, &connected).await? else { return Ok(()) };
        return hear::hear(engine, view, &connected, &shown).await;
    }
    let pull = view.run.job().and_then(|(_, job)| job.pull()).filter(|pull| pull.settled.is_none()).cloned();
    let Some(pull) = pull else { return Ok(()) };
    let remarks = connected.remote.remarks(pull.number).await?;
    // Whoever said something there before the verdict was given here means the attempt that comes now.
    hear::take_remarks(engine, view, &connected, &remarks).await?;
    tell::tell(view, &connected, &pull, &remarks).await
}

impl Connected {
    /// The repository as it is called now, and whether we may write to it.
    pub(super) async fn found(
        self,
        engine: &Engine,
        at: &ForgeAt,
        run: &Run,
    ) -> Result<Connected, LookError> {
        let Connected { remote, shape, login } = self;
        let name = remote.repository().to_owned();
        let about = run.definition.target.as_deref().unwrap_or("a job of Checkrein");
        let found = match remote.look().await? {
            Some(found) => found,
            None if at.made => remote.ensure_repository(about).await?,
            None => return Err(RemoteError::NotFound { what: name }.into()),
        };
        if found.archived {
            return Err(LookError::trouble(format!("repository `{}` of the forge is archived", found.name)));
        }
        if !found.may_push {
            let text = format!("`{login}` may not push to repository `{}` of the forge", found.name);
            return Err(LookError::trouble(text));
        }
        if found.name != name {
            Pace::of(engine, &run.id).called(&found.name)?;
        }
        let remote = match std::sync::Arc::try_unwrap(remote) {
            Ok(remote) if found.name != name => remote.at(&found.name).into(),
            Ok(remote) => remote.into(),
            Err(shared) => shared,
        };
        Ok(Connected { remote, shape, login })
    }
}

/// A pull request nobody works on any more is closed, with a word why.
async fn farewell(
    engine: &Engine,
    view: &mut RunView,
    connected: &Connected,
    pull: &Pull,
) -> Result<(), LookError> {
    let how = match connected.remote.state(pull.number).await {
        Ok(found) if found.state == PullState::Merged => Settled::Merged,
        Ok(found) if found.state == PullState::Open => {
            let key = format!("{}/farewell-{}", view.run.id, pull.number);
            let remarks = connected.remote.remarks(pull.number).await?;
            if !remarks.iter().any(|one| one.by == connected.login && key_of(&one.body) == Some(&key)) {
                let body = marked(&last_words(view), &key);
                let new = NewRemark { body: &body, at: None, reply_to: None };
                connected.remote.remark(pull.number, &new).await?;
            }
            connected.remote.close(pull.number).await?;
            Settled::Closed
        }
        Ok(_) | Err(RemoteError::NotFound { .. }) => Settled::Closed,
        Err(error) => return Err(error.into()),
    };
    engine.learn(view, ForgeNews::PullSettled { number: pull.number, how }).await?;
    Ok(())
}

fn last_words(view: &RunView) -> String {
    use checkrein_core::run::RunEvent;
    let said = view.history.iter().rev().find_map(|(_, _, event)| match event {
        RunEvent::HoldRejected { by, reason, .. } => Some(("rejected", by, reason.clone())),
        RunEvent::RunCancelled { by, reason } => Some(("cancelled", by, reason.clone())),
        RunEvent::ChangesRequested { by, reason, start_over: true, .. } => {
            Some(("started over on another branch", by, reason.clone()))
        }
        _ => None,
    });
    match said {
        Some((what, by, Some(reason))) => format!("**{by}** {what} this in Checkrein:\n\n{reason}"),
        Some((what, by, None)) => format!("**{by}** {what} this in Checkrein."),
        None => "The job this belonged to is over.".to_owned(),
    }
}

pub(super) fn forge_of(run: &Run) -> Option<ForgeAt> {
    run.job().and_then(|(definition, _)| definition.forge.clone())
}

pub(super) fn is_held(run: &Run) -> bool {
    let review = run.state.hold.as_ref().is_some_and(|hold| hold.kind == HoldKind::Review);
    run.state.status == RunStatus::Held && review
}

fn is_over(run: &Run) -> bool {
    run.state.status.is_over()
}

/// Whether there is anything to be done or heard in the forge.
fn has_business(run: &Run) -> bool {
    let Some((_, job)) = run.job() else { return false };
    let open = job.pull().is_some_and(|pull| pull.settled.is_none());
    is_held(run) || !job.left_open(is_over(run)).is_empty() || (open && !is_over(run))
}

impl Engine {
    pub(super) fn poll(&self) -> std::time::Duration {
        self.settings.forge().map_or(std::time::Duration::from_secs(30), |shape| shape.poll())
    }

    /// Records what was learnt.
    pub(super) async fn learn(&self, view: &mut RunView, news: ForgeNews) -> Result<(), EngineError> {
        self.apply(view, Command::Forge(news)).await.map(drop)
    }

    /// Records trouble, or that it is over, once.
    pub(crate) async fn set_trouble(
        &self,
        view: &mut RunView,
        text: Option<String>,
    ) -> Result<(), EngineError> {
        // An error may quote what must not be seen.
        let text = text.map(|text| String::from_utf8_lossy(&self.redacted(text.as_bytes())).into_owned());
        loop {
            let known = view.run.job().and_then(|(_, job)| job.trouble.clone());
            if known == text {
                return Ok(());
            }
            match self.learn(view, ForgeNews::Trouble { text: text.clone() }).await {
                Err(EngineError::RunMoved) => self.reload(view).await?,
                learnt => return learnt,
            }
        }
    }

    /// Looks at the forge of a job, unless somebody drives it: whoever does, looks by themselves.
    pub async fn look_at_forge(&self, id: &RunId) -> Result<Looked, EngineError> {
        let (place, pace) = (Place::of(&self.store, id), Pace::of(self, id));
        let mut view = match self.load_run(id).await {
            Ok(view) => view,
            Err(EngineError::NoRun(_)) => {
                pace.end();
                return Ok(Looked::Done);
            }
            Err(error) => return Err(error),
        };
        let row = self.store.lease(id.as_str()).await?;
        let entrusted = row.is_some_and(|row| row.pinned.is_none() && row.home.is_some());
        if entrusted && self.unfit(&view.run).is_some() {
            // Somebody else who is due looks, and nothing here keeps them waiting.
            return Ok(Looked::Driven);
        }
        if self.roams(&view.run) {
            return self.look_from_here(&mut view).await;
        }
        let Some(_lock) = place.lock()? else { return Ok(Looked::Driven) };
        self.reload(&mut view).await?;
        // A phase that is to be merged there is merged by whoever takes the run up. It waits in the store, where
        // nobody knows that something happened in the forge, or that it is time to ask again.
        if matches!(view.run.due(), Some(Effect::Land)) {
            pace.put_off(LOOK_EVERY, self.now())?;
            self.store.wake_run(id.to_string()).await?;
            return Ok(Looked::Done);
        }
        attend(self, &mut view).await?;
        Ok(Looked::Done)
    }

    /// The same of a job that others can have as well: only whoever has its lease looks, so that nothing is said twice,
    /// and only where its files are.
    async fn look_from_here(&self, view: &mut RunView) -> Result<Looked, EngineError> {
        let (id, pace) = (view.run.id.clone(), Pace::of(self, &view.run.id));
        let row = self.store.lease(id.as_str()).await?;
        let home = row.and_then(|row| row.pinned.or(row.home));
        if home.is_some_and(|home| home != self.leases.host()) {
            pace.end();
            return Ok(Looked::Driven);
        }
        // Nobody waits for whoever drives it.
        if is_driven(&self.store, &id) {
            return Ok(Looked::Driven);
        }
        let lease = match self.take_run(&id, Reach::Here).await {
            Ok(lease) => lease,
            Err(EngineError::RunBusy(_) | EngineError::RunElsewhere { .. }) => return Ok(Looked::Driven),
            Err(error) => return Err(error),
        };
        view.epoch = Some(lease.epoch());
        self.reload(view).await?;
        if matches!(view.run.due(), Some(Effect::Land)) {
            pace.put_off(LOOK_EVERY, self.now())?;
            drop(lease);
            self.store.wake_run(id.to_string()).await?;
            return Ok(Looked::Done);
        }
        if arrive(self, view, &lease).await?.is_some() {
            return Ok(Looked::Done);
        }
        attend(self, view).await?;
        if lease.stays() == Stays::There && !is_over(&view.run) {
            entrust(self, &view.run, &lease).await?;
        }
        lease.then(self.watched_again(&view.run).map_or(After::Ready, After::Again));
        Ok(Looked::Done)
    }

    /// When somebody else is to look at the forge of a job that waits, should nobody here do it.
    pub(crate) fn watched_again(&self, run: &Run) -> Option<Duration> {
        if !is_held(run) || !self.roams(run) {
            return None;
        }
        Some(Pace::of(self, &run.id).rest(self.now()).max(self.poll()) + LEFT_AFTER)
    }
}
