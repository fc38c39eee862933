//! What is held here is shown in the forge: its branches, and a pull request.

use std::sync::Arc;

use checkrein_core::run::Run;
use checkrein_core::run::job::{ForgeNews, Pull};
use checkrein_forge::{NewPull, Oid, Pushed, Received, Remote, TakenFrom, marked};

use super::LookError;
use super::connect::Connected;
use super::look::is_held;
use crate::job::{JobPlace, JobRepository};
use crate::run::RunView;
use crate::{Engine, EngineError, now};

/// A pull request, and whether its branch is in the forge.
pub(super) struct Shown {
    pub pull: Pull,
    pub branch_there: bool,
}

/// What git found when the branches were brought together.
struct Exchanged {
    /// Whether there is anything to compare (L11).
    differs: bool,
    branch_there: bool,
}

/// Brings the branches of a phase together and opens its pull request; none where nothing changed.
pub(super) async fn show(
    engine: &Engine,
    view: &mut RunView,
    connected: &Connected,
) -> Result<Option<Shown>, LookError> {
    let exchanged = {
        let (run, remote) = (view.run.clone(), Arc::clone(&connected.remote));
        let place = JobPlace::of(&engine.store, &run.id);
        off(move || exchange(&run, &place, &remote)).await?
    };
    if is_held(&view.run) {
        engine.notice_push(view).await?;
    }
    let Some((_, job)) = view.run.job() else { return Ok(None) };
    let known = job.pull().cloned();
    if !exchanged.differs && known.is_none() {
        return Ok(None);
    }
    let pull = match known {
        Some(pull) => pull,
        None => open(engine, view, connected).await?,
    };
    let work = view.run.job().and_then(|(_, job)| job.phase.work.clone()).unwrap_or_default();
    let shown = pull.shown.as_ref().is_some_and(|shown| shown.head == work.head);
    if !work.pushed && !shown {
        let found = connected.remote.state(pull.number).await?;
        let at = found.told_at.unwrap_or_else(now);
        engine.learn(view, ForgeNews::PullShown { number: pull.number, head: work.head, at }).await?;
    }
    let pull = view.run.job().and_then(|(_, job)| job.pull().cloned()).unwrap_or(pull);
    Ok(Some(Shown { pull, branch_there: exchanged.branch_there }))
}

async fn open(engine: &Engine, view: &mut RunView, connected: &Connected) -> Result<Pull, LookError> {
    let run = &view.run;
    let (head_branch, base_branch) = branches(engine, run).await?;
    let Some((_, job)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone()).into()) };
    let key = format!("{}/{}", run.id, job.phase.branch());
    let message = checkrein_core::run::job::brief::merge_message(&job.phase);
    let title = message.lines().next().unwrap_or_default().chars().take(200).collect::<String>();
    let body = marked(&about(run, connected), &key);
    let new = NewPull {
        title: &title,
        body: &body,
        head_branch: &head_branch,
        base_branch: &base_branch,
        key: &key,
    };
    let opened = connected.remote.open(&new).await?;
    let pull = Pull {
        number: opened.number,
        url: opened.url,
        phase: job.phase.name(),
        branch: job.phase.branch(),
        shown: None,
        settled: None,
    };
    engine.learn(view, ForgeNews::PullOpened { pull: pull.clone() }).await?;
    Ok(pull)
}

/// What a reviewer reads first.
fn about(run: &Run, connected: &Connected) -> String {
    let Some((definition, job)) = run.job() else { return String::new() };
    let phase = &job.phase;
    let result = phase.work.as_ref().map(|work| work.result.clone()).unwrap_or_default();
    let mut text = String::new();
    let quoted = definition.description.lines().map(|line| format!("> {line}\n")).collect::<String>();
    text.push_str(&format!("{quoted}\nPhase {} ({}) of job `{}`.\n", phase.number, phase.kind(), run.id));
    if !result.summary.trim().is_empty() {
        text.push_str(&format!("\n{}\n", result.summary.trim()));
    }
    for (heading, todos) in [("Done", &phase.todos), ("Next", &result.next_todos)] {
        let wanted = todos.iter().filter(|todo| heading == "Next" || todo.done);
        let list = wanted.map(|todo| format!("- {}\n", todo.content)).collect::<String>();
        if !list.is_empty() {
            text.push_str(&format!("\n**{heading}**\n\n{list}"));
        }
    }
    if let Some(whole) = phase.work.as_ref().and_then(|work| work.whole.as_ref()) {
        let head = phase.work.as_ref().map(|work| work.head.clone()).unwrap_or_default();
        let url = connected.remote.compare_url(&whole.base, &head);
        text.push_str(&format!("\nThis is the end of the job. [All of its changes]({url})\n"));
    }
    text.push_str(
        "\n---\nApprove, request changes, comment at lines, push commits, merge or close: Checkrein takes it over. \
         `/checkrein approve` in a comment approves, `/checkrein request-changes WHAT` asks for changes.",
    );
    text
}

/// The names of the phase's branch and of the one it goes to.
pub(super) async fn branches(engine: &Engine, run: &Run) -> Result<(String, String), LookError> {
    let (run, place) = (run.clone(), JobPlace::of(&engine.store, &run.id));
    off(move || {
        let repository = JobRepository::look(&run, &place)?;
        let Some((_, job)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone()).into()) };
        Ok((repository.branch(&job.phase).to_string(), repository.names.main().to_string()))
    })
    .await
}

fn exchange(run: &Run, place: &JobPlace, remote: &Remote) -> Result<Exchanged, LookError> {
    let repository = JobRepository::look(run, place)?;
    let Some((definition, job)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone()).into()) };
    let (bare, main, branch) = (&repository.bare, repository.names.main(), repository.branch(&job.phase));
    repository.take_mirrored(definition, &branch);
    let heads = bare.remote_heads(remote, &[main.as_str(), branch.as_str()])?;
    let (main_there, there) = (heads.first().cloned().flatten(), heads.get(1).cloned().flatten());
    let here_main = repository.main()?;
    if main_there.as_ref() != Some(&here_main)
        && push(&repository, remote, &here_main, main.as_str())? == Pushed::Behind
    {
        stands(&repository, remote, &main)?;
    }
    let Some(here) = bare.head(&branch)? else {
        return Ok(Exchanged { differs: false, branch_there: there.is_some() });
    };
    // A branch that is gone while its pull request is known was taken away by somebody: that is looked at first.
    let known = job.pull().is_some();
    if there.is_none() && known {
        return Ok(Exchanged { differs: true, branch_there: false });
    }
    if let Some(there) = &there {
        take(&repository, remote, &branch, TakenFrom::Branch { there })?;
    }
    let here = bare.head(&branch)?.unwrap_or(here);
    if bare.contains(&here_main, &here)? {
        return Ok(Exchanged { differs: false, branch_there: there.is_some() });
    }
    if there.as_ref() != Some(&here) && push(&repository, remote, &here, branch.as_str())? == Pushed::Behind {
        return Err(LookError::trouble(format!("branch `{branch}` moved in the forge just now")));
    }
    Ok(Exchanged { differs: true, branch_there: true })
}

/// It is trouble where somebody rewrote a branch of the job in the forge.
pub(super) fn stands(
    repository: &JobRepository,
    remote: &Remote,
    branch: &checkrein_forge::Branch,
) -> Result<(), LookError> {
    match repository.bare.rewritten_there(remote, branch)? {
        None => Ok(()),
        Some(there) => Err(rewritten(repository, branch, &there)?),
    }
}

fn rewritten(
    repository: &JobRepository,
    branch: &checkrein_forge::Branch,
    there: &Oid,
) -> Result<LookError, LookError> {
    let here = repository.bare.head(branch)?.map(|head| head.to_string()).unwrap_or_default();
    Ok(LookError::trouble(format!(
        "branch `{branch}` was rewritten in the forge: it is at {there} and does not have what was there before. \
         Everything is kept here: push {here} to it again"
    )))
}

/// Puts the branch of a phase into the forge again; what became of that, where there is such a branch here.
pub(super) async fn restore(
    engine: &Engine,
    run: &Run,
    connected: &Connected,
) -> Result<Option<Pushed>, LookError> {
    let (run, remote) = (run.clone(), Arc::clone(&connected.remote));
    let place = JobPlace::of(&engine.store, &run.id);
    off(move || {
        let repository = JobRepository::look(&run, &place)?;
        let Some((_, job)) = run.job() else { return Ok(None) };
        let branch = repository.branch(&job.phase);
        let head = repository.bare.head(&branch)?;
        head.map(|head| push(&repository, &remote, &head, branch.as_str())).transpose()
    })
    .await
}

/// Takes what was on the branch of a pull request when it was merged or closed.
pub(super) async fn receive_pull(
    engine: &Engine,
    run: &Run,
    connected: &Connected,
    number: u64,
) -> Result<(), LookError> {
    let (run, remote) = (run.clone(), Arc::clone(&connected.remote));
    let place = JobPlace::of(&engine.store, &run.id);
    off(move || {
        let repository = JobRepository::look(&run, &place)?;
        let Some((_, job)) = run.job() else { return Ok(()) };
        let branch = repository.branch(&job.phase);
        if repository.bare.head(&branch)?.is_none() {
            return Ok(());
        }
        take(&repository, &remote, &branch, TakenFrom::Pull { number })
    })
    .await
}

fn take(
    repository: &JobRepository,
    remote: &Remote,
    branch: &checkrein_forge::Branch,
    from: TakenFrom<'_>,
) -> Result<(), LookError> {
    let by = repository.engine.at(now().as_second());
    match repository.bare.receive(remote, branch, from, &by)? {
        Received::Nothing | Received::Taken(_) => Ok(()),
        Received::Rewritten { there } => match rewritten(repository, branch, &there)? {
            LookError::Trouble(trouble) => Err(LookError::trouble(format!(
                "{}, or answer here with `request-changes --start-over`",
                trouble.text
            ))),
            error => Err(error),
        },
        Received::Conflict { there } => Err(LookError::trouble(format!(
            "what was pushed to branch `{branch}` in the forge ({there}) does not fit what the agent did meanwhile: \
             merge the two and push that"
        ))),
    }
}

/// A refusal is trouble; that there is more in the forge is not.
pub(super) fn push(
    repository: &JobRepository,
    remote: &Remote,
    commit: &Oid,
    branch: &str,
) -> Result<Pushed, LookError> {
    match repository.bare.push_to(remote, commit, branch)? {
        Pushed::Refused(why) => {
            Err(LookError::trouble(format!("the forge does not take branch `{branch}`: {why}")))
        }
        pushed => Ok(pushed),
    }
}

/// Takes over what people pushed to the forge while the agent worked, before its work is collected. What cannot
/// be had now is had later.
pub(crate) async fn take_pushed(engine: &Engine, run: &Run) {
    let Some((definition, job)) = run.job() else { return };
    let (Some(at), Some(_)) = (definition.forge.as_ref(), job.pull()) else { return };
    let Ok(connected) = engine.connect(at, &run.id).await else { return };
    let Ok(connected) = connected.found(engine, at, run).await else { return };
    let (run, remote) = (run.clone(), Arc::clone(&connected.remote));
    let place = JobPlace::of(&engine.store, &run.id);
    let _ = off(move || {
        let repository = JobRepository::look(&run, &place)?;
        let Some((_, job)) = run.job() else { return Ok(()) };
        let branch = repository.branch(&job.phase);
        let there = repository.bare.remote_heads(&remote, &[branch.as_str()])?.into_iter().flatten().next();
        match there {
            Some(there) => take(&repository, &remote, &branch, TakenFrom::Branch { there: &there }),
            None => Ok(()),
        }
    })
    .await;
}

/// Git is waited for on a thread of its own.
pub(super) async fn off<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LookError> + Send + 'static,
) -> Result<T, LookError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(EngineError::Definition(format!("a thread died: {error}")).into()),
    }
}
