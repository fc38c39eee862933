//! A phase that was approved or passed becomes part of the job's main branch in the forge, and the result of a
//! job part of the branch it started from.

use std::sync::Arc;
use std::time::Duration;

use checkrein_core::run::job::{self, AgentOutcome, ForgeAt, ForgeNews, Pull, Settled};
use checkrein_core::run::{Command, Run, RunStatus};
use checkrein_forge::{
    NewPull, Oid, Publish, PublishedThere, PullState, Pushed, RemoteError, RemoteMerge, marked,
};

use super::at::wants_pull;
use super::connect::Connected;
use super::look::forge_of;
use super::pace::Went;
use super::show::{self, off};
use super::{LookError, Pace, tell};
use crate::job::{JobPlace, JobRepository, Landed, OtherSide, land_here, recorded, source};
use crate::run::RunView;
use crate::{Engine, EngineError, now};

/// What came of landing a phase.
pub(crate) enum Landing {
    Done(Command),
    /// The forge did not do it, and is asked again later.
    Waits(String),
}

/// Doing it again finds it done.
pub(crate) async fn land(engine: &Engine, view: &mut RunView) -> Result<Landing, EngineError> {
    let Some(at) = forge_of(&view.run) else {
        return land_here(engine, &view.run, Landed::default()).await.map(Landing::Done);
    };
    let (id, pace) = (view.run.id.clone(), Pace::of(engine, &view.run.id));
    pace.take_hint();
    loop {
        match there(engine, view, &at).await {
            Ok(command) => {
                engine.set_trouble(view, None).await?;
                pace.went(&at, &id, Went::News, Duration::from_secs(1), engine.now())?;
                return Ok(Landing::Done(command));
            }
            Err(LookError::Engine(EngineError::RunMoved)) => engine.reload(view).await?,
            Err(LookError::Engine(error)) => return Err(error),
            Err(LookError::Trouble(trouble)) => {
                engine.set_trouble(view, Some(trouble.text.clone())).await?;
                let went = Went::Failed { retry_after: trouble.retry_after };
                pace.went(&at, &id, went, engine.poll(), engine.now())?;
                return Ok(Landing::Waits(trouble.text));
            }
        }
    }
}

async fn there(engine: &Engine, view: &mut RunView, at: &ForgeAt) -> Result<Command, LookError> {
    let connected = engine.connect(at, &view.run.id).await?.found(engine, at, &view.run).await?;
    let complete = view.run.job().is_some_and(|(_, job)| {
        job.phase.work.as_ref().is_some_and(|work| work.result.outcome == AgentOutcome::JobComplete)
    });
    // What is merged there stays merged, so this is looked at first.
    if complete && let Some(conflict) = conflict_with_base(engine, &view.run, &connected, at).await? {
        return Ok(Command::Conflict(conflict));
    }
    let mut landed = Landed::default();
    let pull = view.run.job().and_then(|(_, job)| job.pull().cloned());
    let pull = match pull {
        Some(pull) => Some(pull),
        None if wants_pull(&view.run) => show::show(engine, view, &connected).await?.map(|shown| shown.pull),
        None => None,
    };
    let merged = match &pull {
        Some(pull) => merge_there(engine, view, &connected, pull).await?,
        None => Merging::Here(None),
    };
    match (merged, &pull) {
        (Merging::Conflict(conflict), _) => {
            return Ok(Command::Conflict(recorded(conflict, OtherSide::Main)));
        }
        (Merging::Barred { said }, pull) => return barred(&view.run, &connected, pull.as_ref(), said).await,
        (Merging::There { commit }, Some(pull)) => {
            match follow(engine, &view.run, &connected, commit.as_deref()).await? {
                Followed::To { main, note } => {
                    landed.merged = Some(main);
                    landed.notes.extend(note);
                }
                Followed::Without => {
                    let note = format!(
                        "pull request {} was merged in the forge and taken out of its branch again; it was merged again",
                        pull.number
                    );
                    landed.notes.push(note);
                    match merge_here(engine, &view.run, &connected).await? {
                        Ok(merged) => landed.merged = merged,
                        Err(conflict) => return Ok(Command::Conflict(recorded(conflict, OtherSide::Main))),
                    }
                }
            }
            if pull.settled != Some(Settled::Merged) {
                let how = Settled::Merged;
                engine.learn(view, ForgeNews::PullSettled { number: pull.number, how }).await?;
            }
        }
        (Merging::There { .. }, None) => {}
        (Merging::Here(note), _) => {
            landed.notes.extend(note);
            match merge_here(engine, &view.run, &connected).await? {
                Ok(merged) => landed.merged = merged,
                Err(conflict) => return Ok(Command::Conflict(recorded(conflict, OtherSide::Main))),
            }
        }
    }
    if complete {
        landed.published = publish(engine, &view.run, &connected, at).await?;
    }
    Ok(land_here(engine, &view.run, landed).await?)
}

enum Merging {
    /// As the commit the forge names.
    There {
        commit: Option<String>,
    },
    /// The rules of the forge forbid it.
    Barred {
        said: String,
    },
    /// By us, with a push; why, where there is a pull request that was to be merged.
    Here(Option<String>),
    Conflict(checkrein_forge::Conflict),
}

/// What the rules of the forge forbid is asked for again, and shown. Where a check is done and did not pass, that
/// does not help: a person is asked.
async fn barred(
    run: &Run,
    connected: &Connected,
    pull: Option<&Pull>,
    said: String,
) -> Result<Command, LookError> {
    let Some((_, job)) = run.job() else { return Err(LookError::trouble(said)) };
    let head = job.phase.work.as_ref().map(|work| work.head.clone()).unwrap_or_default();
    // That they cannot be had is no trouble of its own.
    let checks = connected.remote.checks(&head).await.unwrap_or_default();
    let open = checks.iter().filter(|check| check.says != "success" && check.says != "skipped");
    let open = open.map(|check| format!("{}: {}", check.name, check.says)).collect::<Vec<_>>();
    let open = if open.is_empty() { String::new() } else { format!(" ({})", open.join(", ")) };
    let number = pull.map(|pull| pull.number).unwrap_or_default();
    let said = said.trim_end_matches('.');
    if checks.iter().any(|check| check.failed) && said.contains("check") {
        return Ok(Command::Bar {
            text: format!("The forge does not merge pull request {number}: {said}{open}"),
        });
    }
    let how = if job.phase.review.is_some() { "is approved" } else { "needs no approval" };
    Err(LookError::trouble(format!(
        "pull request {number} {how}, and the forge does not merge it yet: {said}{open}"
    )))
}

/// While mergeability is computed a forge says no; it is asked again so often, and waited for longer each time.
const MERGE_TRIES: u32 = 6;
const MERGE_FIRST: Duration = Duration::from_millis(250);

async fn merge_there(
    engine: &Engine,
    view: &RunView,
    connected: &Connected,
    pull: &Pull,
) -> Result<Merging, LookError> {
    let Some((definition, job)) = view.run.job() else { return Ok(Merging::Here(None)) };
    let head = job.phase.work.as_ref().map(|work| work.head.clone()).unwrap_or_default();
    let (_, base) = show::branches(engine, &view.run).await?;
    let message = message(engine, &view.run).await?;
    let (title, rest) = message.split_once('\n').unwrap_or((&message, ""));
    let merge = RemoteMerge { how: definition.merge, head: &head, title: title.trim(), message: rest.trim() };
    let mut said: Option<LookError> = None;
    let mut told = false;
    for attempt in 0..MERGE_TRIES {
        if attempt > 0 {
            tokio::time::sleep(MERGE_FIRST.saturating_mul(2_u32.saturating_pow(attempt))).await;
        }
        let found = connected.remote.state(pull.number).await?;
        // The verdict shows there however it is merged.
        if found.state == PullState::Open && !told {
            let remarks = connected.remote.remarks(pull.number).await?;
            tell::tell(view, connected, pull, &remarks).await?;
            told = true;
        }
        match found.state {
            PullState::Merged => return Ok(Merging::There { commit: found.merged_as }),
            PullState::Closed if attempt + 2 < MERGE_TRIES => {
                show::restore(engine, &view.run, connected).await?;
                if let Err(error) = connected.remote.reopen(pull.number).await {
                    said = Some(error.into());
                }
                continue;
            }
            PullState::Closed => {
                let note = format!(
                    "pull request {} was closed in the forge; the approved commit was merged here",
                    pull.number
                );
                return Ok(Merging::Here(Some(note)));
            }
            PullState::Open if found.head != head => {
                // A forge takes a moment to see what was pushed. Where its branch has more than was approved,
                // there is nothing to wait for.
                let first = attempt == 0;
                let pushed = if first { show::restore(engine, &view.run, connected).await? } else { None };
                if pushed != Some(Pushed::Behind) && attempt + 1 < MERGE_TRIES {
                    continue;
                }
                let note = format!(
                    "pull request {} has commits nobody approved; what was approved was merged, and they are left on its branch",
                    pull.number
                );
                return Ok(Merging::Here(Some(note)));
            }
            PullState::Open => {}
        }
        // Merged into another branch it would be part of what is not ours to change.
        if found.base_branch != base {
            connected.remote.retarget(pull.number, &base).await?;
            continue;
        }
        match connected.remote.merge(pull.number, &merge).await {
            // Whether it is merged is what its state says.
            Ok(()) => said = Some(LookError::trouble("the forge took the merge and does not show it")),
            Err(RemoteError::Barred { said }) => return Ok(Merging::Barred { said }),
            Err(
                error @ (RemoteError::NotNow { .. }
                | RemoteError::Refused { .. }
                | RemoteError::NotFound { .. }),
            ) => {
                said = Some(error.into());
            }
            Err(error) => return Err(error.into()),
        }
    }
    let found = connected.remote.state(pull.number).await?;
    if found.state == PullState::Merged {
        return Ok(Merging::There { commit: found.merged_as });
    }
    if let Some(conflict) = conflict(engine, &view.run, connected, &head).await? {
        return Ok(Merging::Conflict(conflict));
    }
    Err(said.unwrap_or_else(|| LookError::trouble("the forge does not merge the pull request")))
}

async fn message(engine: &Engine, run: &Run) -> Result<String, LookError> {
    let (run, place) = (run.clone(), JobPlace::of(&engine.store, &run.id));
    off(move || Ok(JobRepository::look(&run, &place)?.merge_message(&run))).await
}

/// Whether the phase does not fit the job's main branch as it is in the forge.
async fn conflict(
    engine: &Engine,
    run: &Run,
    connected: &Connected,
    head: &str,
) -> Result<Option<checkrein_forge::Conflict>, LookError> {
    let (run, remote, head) = (run.clone(), Arc::clone(&connected.remote), Oid::parse(head)?);
    let place = JobPlace::of(&engine.store, &run.id);
    off(move || {
        let repository = JobRepository::look(&run, &place)?;
        let main = repository.bare.follow(&remote, &repository.names.main())?;
        Ok(repository.bare.conflict_between(&main, &head)?)
    })
    .await
}

/// Whether the result of a job does not fit the branch of the forge that it started from (R9). What is merged there already
/// fitted.
async fn conflict_with_base(
    engine: &Engine,
    run: &Run,
    connected: &Connected,
    at: &ForgeAt,
) -> Result<Option<job::Conflict>, LookError> {
    let merged = run
        .job()
        .is_some_and(|(_, job)| job.pull().is_some_and(|pull| pull.settled == Some(Settled::Merged)));
    if at.made || merged {
        return Ok(None);
    }
    let (run, remote) = (run.clone(), Arc::clone(&connected.remote));
    let place = JobPlace::of(&engine.store, &run.id);
    off(move || {
        let repository = JobRepository::look(&run, &place)?;
        let Some((definition, job)) = run.job() else { return Ok(None) };
        let Some(source) = source(definition)? else { return Ok(None) };
        let head = job.phase.work.as_ref().map(|work| work.head.as_str()).unwrap_or_default();
        let found = repository.bare.conflict_with_base_at(&remote, &source, &Oid::parse(head)?)?;
        let name = source.branch.unwrap_or_default();
        Ok(found.map(|found| recorded(found, OtherSide::Base(name))))
    })
    .await
}

enum Followed {
    To {
        main: Oid,
        note: Option<String>,
    },
    /// Somebody took the merge away again.
    Without,
}

/// Our main branch is where the forge's is after the merge; the phase's branch goes.
async fn follow(
    engine: &Engine,
    run: &Run,
    connected: &Connected,
    commit: Option<&str>,
) -> Result<Followed, LookError> {
    let (run, remote) = (run.clone(), Arc::clone(&connected.remote));
    let place = JobPlace::of(&engine.store, &run.id);
    let commit = commit.map(Oid::parse).transpose()?;
    off(move || {
        let repository = JobRepository::look(&run, &place)?;
        let main = repository.names.main();
        let there = repository.bare.remote_heads(&remote, &[main.as_str()])?.into_iter().flatten().next();
        // At the end of the job it is deleted, perhaps by whoever was killed right after that; else somebody took it
        // away with what was merged.
        let main = if there.is_some() {
            show::stands(&repository, &remote, &main)?;
            repository.bare.follow(&remote, &main)?
        } else {
            repository.main()?
        };
        // A commit that is not even known here is not part of it.
        let within = |commit: &Oid| repository.bare.contains(&main, commit).unwrap_or(false);
        if commit.map_or(there.is_none(), |commit| !within(&commit)) {
            return Ok(Followed::Without);
        }
        let Some((_, job)) = run.job() else { return Ok(Followed::To { main, note: None }) };
        let branch = repository.branch(&job.phase);
        let head = job.phase.work.as_ref().map(|work| work.head.clone()).unwrap_or_default();
        let note = match repository.bare.delete_there(&remote, branch.as_str(), &Oid::parse(&head)?)? {
            Pushed::Done => None,
            Pushed::Behind => {
                Some(format!("branch `{branch}` has commits in the forge that nobody approved; it was kept"))
            }
            Pushed::Refused(why) => {
                Some(format!("branch `{branch}` could not be deleted in the forge: {why}"))
            }
        };
        Ok(Followed::To { main, note })
    })
    .await
}

/// Merges here, on top of what the forge has, and pushes that.
async fn merge_here(
    engine: &Engine,
    run: &Run,
    connected: &Connected,
) -> Result<Result<Option<Oid>, checkrein_forge::Conflict>, LookError> {
    let (run, remote) = (run.clone(), Arc::clone(&connected.remote));
    let place = JobPlace::of(&engine.store, &run.id);
    off(move || {
        let repository = JobRepository::look(&run, &place)?;
        let main = repository.names.main();
        let there = repository.bare.remote_heads(&remote, &[main.as_str()])?.into_iter().flatten().next();
        if there.is_some() && there != Some(repository.main()?) {
            // What is ahead here is pushed below.
            match repository.bare.follow(&remote, &main) {
                Ok(_) | Err(RemoteError::Git(checkrein_forge::ForgeError::Moved { .. })) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let merged = match repository.merge_phase(&run, now().as_second())? {
            Ok(merged) => merged,
            Err(conflict) => return Ok(Err(conflict)),
        };
        match repository.bare.push_to(&remote, &repository.main()?, main.as_str())? {
            Pushed::Done => Ok(Ok(merged)),
            Pushed::Behind => Err(LookError::trouble(format!("branch `{main}` moved in the forge just now"))),
            Pushed::Refused(why) => {
                Err(LookError::trouble(format!("the forge does not take branch `{main}`: {why}")))
            }
        }
    })
    .await
}

/// The branch the job started from gets its result in the forge. Where that is protected, a pull request offers it.
async fn publish(
    engine: &Engine,
    run: &Run,
    connected: &Connected,
    at: &ForgeAt,
) -> Result<Option<String>, LookError> {
    let name = connected.remote.repository().to_owned();
    if at.made {
        return Ok(Some(format!("the result is on branch `main` of {}/{name}", at.url)));
    }
    let published = {
        let (run, remote) = (run.clone(), Arc::clone(&connected.remote));
        let (place, roams) = (JobPlace::of(&engine.store, &run.id), engine.roams(&run));
        off(move || {
            let repository = JobRepository::look(&run, &place)?;
            let Some((definition, job)) = run.job() else { return Ok(None) };
            let Some(source) = source(definition)? else { return Ok(None) };
            let without = definition.repository.artefacts().trim_end_matches('/');
            let (head, by) = (repository.main()?, repository.engine.at(now().as_second()));
            let work = job.phase.work.as_ref().map(|work| work.head.as_str()).unwrap_or_default();
            let work = Oid::parse(work)?;
            let publish = Publish { source: &source, head: &head, work: &work, without, by: &by };
            let published = repository.bare.publish_to(&remote, &publish)?;
            // Whoever would have to do it again elsewhere needs it, until it is recorded.
            let served = matches!(published, PublishedThere::Moved { .. } | PublishedThere::Nothing);
            if served && !roams {
                // It has served; that it stays is no harm.
                let _ = repository.bare.delete_there(&remote, repository.names.main().as_str(), &head);
            }
            Ok(Some(published))
        })
        .await?
    };
    let place = format!("{}/{name}", at.url);
    Ok(match published {
        None => None,
        Some(PublishedThere::Nothing) => Some(format!("there was nothing to bring to {place}")),
        Some(PublishedThere::Moved { branch, to }) => {
            Some(format!("branch `{branch}` of {place} is at {to} now"))
        }
        Some(PublishedThere::Beside { branch, onto, why, conflict }) => {
            let Some(onto) = onto else {
                return Ok(Some(format!("the result is on branch `{branch}` of {place}: {why}")));
            };
            let key = format!("{}/result", run.id);
            let title = run.definition.target.clone().unwrap_or_else(|| "the result of a job".to_owned());
            let body = marked(
                &format!("The result of job `{}`. It could not be brought to `{onto}`: {why}.", run.id),
                &key,
            );
            let new =
                NewPull { title: &title, body: &body, head_branch: &branch, base_branch: &onto, key: &key };
            match connected.remote.open(&new).await {
                Ok(pull) if pull.state == PullState::Merged => {
                    Some(format!("the result was merged into `{onto}`: {}", pull.url))
                }
                // A job is not completed while its result does not fit (R9); what was merged by hand cannot be held again.
                Ok(pull) if let Some(conflict) = conflict => {
                    let files = recorded(conflict, OtherSide::Base(onto.clone())).files.join(", ");
                    return Err(LookError::trouble(format!(
                        "the result does not fit branch `{onto}` any more: settle the conflict in {files} and merge {}",
                        pull.url
                    )));
                }
                Ok(pull) => {
                    Some(format!("the result waits to be merged into `{onto}`: {} ({why})", pull.url))
                }
                // Two branches that have nothing in common, for one.
                Err(RemoteError::Refused { said, .. }) => Some(format!(
                    "the result is on branch `{branch}` of {place}: {why}, and the forge makes no pull request of it: {said}"
                )),
                Err(error) => return Err(error.into()),
            }
        }
    })
}

/// Takes the branch of a phase out of the forge that was merged without a pull request, once that is recorded: until
/// then whoever goes on elsewhere needs it. That it stays is no harm.
pub(crate) async fn clear_phase(engine: &Engine, run: &Run) {
    let Some((at, job)) = forge_of(run).zip(run.job().map(|(_, job)| job)) else { return };
    let head = job.phase.work.as_ref().and_then(|work| Oid::parse(&work.head).ok());
    let Some(head) = head.filter(|_| job.pull().is_none() && engine.roams(run)) else { return };
    let Ok(connected) = engine.connect(&at, &run.id).await else { return };
    let (run, remote) = (run.clone(), Arc::clone(&connected.remote));
    let place = JobPlace::of(&engine.store, &run.id);
    let _ = off(move || {
        let repository = JobRepository::look(&run, &place)?;
        let Some((_, job)) = run.job() else { return Ok(()) };
        let branch = repository.branch(&job.phase);
        Ok(repository.bare.delete_there(&remote, branch.as_str(), &head).map(drop)?)
    })
    .await;
}

/// Takes the main branch of a job that could have gone on elsewhere out of the forge, once its result is recorded and
/// part of the branch it started from. That it stays is no harm.
pub(crate) async fn clear(engine: &Engine, run: &Run) {
    let completed = matches!(run.state.status, RunStatus::Completed | RunStatus::CompletedWithWarnings);
    let Some(at) = forge_of(run).filter(|at| completed && !at.made && engine.roams(run)) else { return };
    let Ok(connected) = engine.connect(&at, &run.id).await else { return };
    let (run, remote) = (run.clone(), Arc::clone(&connected.remote));
    let place = JobPlace::of(&engine.store, &run.id);
    let _ = off(move || {
        let repository = JobRepository::look(&run, &place)?;
        let (main, result) = (repository.names.main(), repository.names.result());
        let beside = repository.bare.remote_heads(&remote, &[result.as_str()])?;
        if beside.into_iter().flatten().next().is_none() {
            repository.bare.delete_there(&remote, main.as_str(), &repository.main()?)?;
        }
        Ok(())
    })
    .await;
}

impl JobRepository {
    /// What the merge of a phase says.
    fn merge_message(&self, run: &Run) -> String {
        let Some((definition, job)) = run.job() else { return String::new() };
        let head = job.phase.work.as_ref().and_then(|work| Oid::parse(&work.head).ok());
        head.map_or_else(
            || job::brief::merge_message(&job.phase),
            |head| self.message(definition, &job.phase, &head),
        )
    }
}
