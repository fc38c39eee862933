//! What people did in the forge is taken over: commits, comments, verdicts.

use checkrein_core::checkpoint::Verdict;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_core::run::Command;
use checkrein_core::run::job::{Author, ForgeNews, NewComment};
use checkrein_forge::{NewRemark, PullState, Remark, key_of, marked};

use super::LookError;
use super::connect::Connected;
use super::opinion::{Given, Said, Standing, Vain, command_of, weigh};
use super::show::{self, Shown};
use super::tell;
use crate::checkpoint::{Judged, Naming, VerdictRequest};
use crate::run::RunView;
use crate::{Engine, EngineError};

/// Listens to what people did with a pull request that a job waits at.
pub(super) async fn hear(
    engine: &Engine,
    view: &mut RunView,
    connected: &Connected,
    shown: &Shown,
) -> Result<(), LookError> {
    let number = shown.pull.number;
    let found = connected.remote.state(number).await?;
    if found.state != PullState::Open && found.head != head(view) {
        show::receive_pull(engine, &view.run, connected, number).await?;
        engine.notice_push(view).await?;
    }
    // Somebody may have led it elsewhere; a forge does so by itself when the branch it leads to is deleted.
    let (_, base) = show::branches(engine, &view.run).await?;
    if found.base_branch != base && found.state == PullState::Open {
        connected.remote.retarget(number, &base).await?;
    }
    let remarks = connected.remote.remarks(number).await?;
    take_remarks(engine, view, connected, &remarks).await?;
    match found.state {
        PullState::Merged if found.base_branch != base => Err(LookError::trouble(format!(
            "pull request {number} was merged into `{}` in the forge, and not into `{base}`: approve or reject it here",
            found.base_branch
        ))),
        PullState::Merged => merged(engine, view, connected, &found.head, found.merged_by, number).await,
        PullState::Closed => closed(engine, view, connected, number).await,
        PullState::Open => {
            if !shown.branch_there {
                show::restore(engine, &view.run, connected).await?;
            }
            tell::tell(view, connected, &shown.pull, &remarks).await?;
            opinions(engine, view, connected, number, &remarks).await
        }
    }
}

async fn opinions(
    engine: &Engine,
    view: &mut RunView,
    connected: &Connected,
    number: u64,
    remarks: &[Remark],
) -> Result<(), LookError> {
    let opinions = connected.remote.opinions(number).await?;
    let weighed = {
        let Some((_, job)) = view.run.job() else { return Ok(()) };
        let head = head(view);
        let standing = Standing {
            shape: &connected.shape,
            login: &connected.login,
            head: &head,
            shown: job.pull().and_then(|pull| pull.shown.as_ref()),
            heard: &job.heard,
        };
        weigh(&standing, &opinions, remarks)
    };
    for said in weighed.words {
        take_words(engine, view, said).await?;
    }
    for vain in weighed.vain {
        set_aside(engine, view, connected, number, remarks, vain).await?;
    }
    let Some(given) = weighed.verdict else { return Ok(()) };
    let id = given.id.clone();
    match judge(engine, view, given).await {
        // Only what a person said can be refused; trouble of ours is tried again.
        Err(LookError::Engine(
            error @ (EngineError::Refused(_)
            | EngineError::MarkedFiles { .. }
            | EngineError::OpenConflict { .. }
            | EngineError::BadTodos { .. }
            | EngineError::Unnamed(_)),
        )) => {
            engine.reload(view).await?;
            let why = error.to_string();
            set_aside(engine, view, connected, number, remarks, Vain { id, why }).await
        }
        judged => judged,
    }
}

/// Gives the verdict of somebody in the forge, in the name they have here.
async fn judge(engine: &Engine, view: &mut RunView, given: Given) -> Result<(), LookError> {
    let Some(checkpoint) = view.checkpoint.clone() else { return Ok(()) };
    let by = Principal::new(given.by, PrincipalKind::Person, Role::Reviewer);
    let silent = given.verdict != Verdict::Approve && given.reason.is_none();
    let reason = if silent { Some("see the comments".to_owned()) } else { given.reason };
    let request = VerdictRequest {
        judged: given.commit.filter(|_| given.verdict == Verdict::Approve).map(Judged::Commit),
        naming: Naming::WhereItMoved,
        start_over: given.start_over,
        heard: Some(given.id),
        ..VerdictRequest::new(given.verdict, reason)
    };
    engine.give_verdict(&by, &checkpoint, &request).await?;
    engine.reload(view).await?;
    Ok(())
}

/// Merged by hand is an approval, where somebody did it who may approve (L9, X11).
async fn merged(
    engine: &Engine,
    view: &mut RunView,
    connected: &Connected,
    commit: &str,
    by: Option<String>,
    number: u64,
) -> Result<(), LookError> {
    let Some(name) = person(connected, by.as_deref()) else {
        return Err(LookError::trouble(format!(
            "pull request {number} was merged in the forge by {}, whose approval does not count: approve or reject it here",
            who(connected, by.as_deref())
        )));
    };
    if commit != head(view) {
        return Err(LookError::trouble(format!(
            "pull request {number} was merged in the forge at {commit}, which is not what is under review: \
             look at it, and approve or reject it here"
        )));
    }
    let Some(checkpoint) = view.checkpoint.clone() else { return Ok(()) };
    let by = Principal::new(name, PrincipalKind::Person, Role::Reviewer);
    let request = VerdictRequest {
        judged: Some(Judged::Commit(commit.to_owned())),
        // It is done, whatever was marked before.
        confirmed: true,
        heard: Some(format!("merged-{number}")),
        ..VerdictRequest::new(Verdict::Approve, Some(format!("merged in the forge ({number})")))
    };
    engine.give_verdict(&by, &checkpoint, &request).await?;
    engine.reload(view).await?;
    Ok(())
}

/// Closed unmerged asks for changes, on a new branch (L4, L9).
async fn closed(
    engine: &Engine,
    view: &mut RunView,
    connected: &Connected,
    number: u64,
) -> Result<(), LookError> {
    let by = connected.remote.closed_by(number).await?;
    let Some(name) = person(connected, by.as_deref()) else {
        return Err(LookError::trouble(format!(
            "pull request {number} was closed in the forge by {}, whose word does not count: reopen it there, or answer here",
            who(connected, by.as_deref())
        )));
    };
    let Some(checkpoint) = view.checkpoint.clone() else { return Ok(()) };
    let by = Principal::new(name, PrincipalKind::Person, Role::Reviewer);
    let request = VerdictRequest {
        start_over: true,
        heard: Some(format!("closed-{number}")),
        ..VerdictRequest::new(
            Verdict::RequestChanges,
            Some(format!("pull request {number} was closed unmerged; see the comments")),
        )
    };
    engine.give_verdict(&by, &checkpoint, &request).await?;
    let settled = ForgeNews::PullSettled { number, how: checkrein_core::run::job::Settled::Closed };
    engine.reload(view).await?;
    engine.learn(view, settled).await?;
    Ok(())
}

/// Comments of people who have a name here; nobody else's reach the agent.
pub(super) async fn take_remarks(
    engine: &Engine,
    view: &mut RunView,
    connected: &Connected,
    remarks: &[Remark],
) -> Result<(), LookError> {
    let mut in_order: Vec<&Remark> = remarks.iter().collect();
    in_order.sort_by_key(|remark| remark.at);
    for remark in in_order {
        let Some(by) = person(connected, Some(&remark.by)) else { continue };
        let Some((_, job)) = view.run.job() else { return Ok(()) };
        let known = job.comments.iter().any(|comment| comment.origin.as_deref() == Some(&remark.id));
        let empty = remark.body.trim().is_empty();
        if known || empty || job.heard.contains(&remark.id) || command_of(&remark.body).is_some() {
            continue;
        }
        let above = |origin: &str| {
            let ours = || {
                let above = remarks.iter().find(|one| one.id == origin && one.by == connected.login)?;
                key_of(&above.body)?.strip_prefix(&format!("{}/", view.run.id)).map(str::to_owned)
            };
            let known = job.comments.iter().find(|comment| comment.origin.as_deref() == Some(origin));
            let id = known.map(|comment| comment.id.clone()).or_else(ours)?;
            job.comments.iter().any(|comment| comment.id == id).then_some(id)
        };
        let place = remark.place.clone();
        let comment = NewComment {
            key: None,
            reply_to: remark.reply_to.as_deref().and_then(above),
            line: place.as_ref().and_then(|place| place.line),
            file: place.map(|place| place.file),
            text: remark.body.clone(),
            origin: Some(remark.id.clone()),
        };
        engine.apply(view, Command::Comment { comment, by, author: Author::Person }).await?;
    }
    Ok(())
}

async fn take_words(engine: &Engine, view: &mut RunView, said: Said) -> Result<(), LookError> {
    if said.text.is_empty() {
        engine.learn(view, ForgeNews::Heard { id: said.id }).await?;
        return Ok(());
    }
    let comment = NewComment { text: said.text, origin: Some(said.id.clone()), ..NewComment::default() };
    let commands = vec![
        Command::Comment { comment, by: said.by, author: Author::Person },
        Command::Forge(ForgeNews::Heard { id: said.id }),
    ];
    engine.apply_all(view, commands, None).await?;
    Ok(())
}

/// Tells once why something is no verdict.
async fn set_aside(
    engine: &Engine,
    view: &mut RunView,
    connected: &Connected,
    number: u64,
    remarks: &[Remark],
    vain: Vain,
) -> Result<(), LookError> {
    let key = format!("{}/answer-{}", view.run.id, vain.id);
    if !remarks.iter().any(|one| one.by == connected.login && key_of(&one.body) == Some(&key)) {
        let body = marked(&format!("Checkrein does not count this: {}.", vain.why), &key);
        connected.remote.remark(number, &NewRemark { body: &body, at: None, reply_to: None }).await?;
    }
    engine.learn(view, ForgeNews::Heard { id: vain.id }).await?;
    Ok(())
}

fn head(view: &RunView) -> String {
    let work = view.run.job().and_then(|(_, job)| job.phase.work.as_ref());
    work.map(|work| work.head.clone()).unwrap_or_default()
}

/// Who somebody is here; our own account is nobody (X11).
fn person(connected: &Connected, login: Option<&str>) -> Option<String> {
    let login = login.filter(|login| !login.eq_ignore_ascii_case(&connected.login))?;
    connected.shape.person(login).map(str::to_owned)
}

fn who(connected: &Connected, login: Option<&str>) -> String {
    match login {
        None => "somebody the forge does not name".to_owned(),
        Some(login) if login.eq_ignore_ascii_case(&connected.login) => {
            format!("`{login}`, the account Checkrein uses")
        }
        Some(login) => format!("`{login}`, who is not among `people`"),
    }
}
