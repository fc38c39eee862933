use std::fmt::Write;
use std::path::Path;

use checkrein_core::report::{duration_words, used_words};
use checkrein_core::run::RunEvent;
use checkrein_core::run::job::{ForgeNews, Repository, Settled};
use checkrein_engine::RunView;
use checkrein_server::wire::run::Run;
use checkrein_server::wire::workforce::Placement;
use jiff::Timestamp;
use serde_json::Value;

use crate::error::CliError;
use crate::output::{Output, count, findings, harmless, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, or a beginning or end of its id that no other has
    run: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let desk = args.store.desk_to_read()?;
    if let (Desk::There(remote), true) = (&desk, args.json) {
        return Output::json(&remote.get::<Value>(&["runs", &args.run], &[])?);
    }
    let view = desk.view(&args.run)?;
    let placement = match &desk {
        Desk::Here(session) => {
            let who = session.principal()?;
            Some(Placement::from(&session.wait(session.engine.run_where(&who, &view.run.id))?))
        }
        Desk::There(remote) => remote.get::<Run>(&["runs", &args.run], &[])?.placement,
    };
    if args.json {
        return Output::json(&Run { placement, ..Run::of(&view, desk.now()) });
    }
    let repository = match &desk {
        Desk::Here(session) => session.engine.job_repository(&view.run.id),
        Desk::There(_) => None,
    };
    Ok(Output::text(text(&view, desk.now(), repository.as_deref(), placement.as_ref())))
}

fn text(view: &RunView, now: Timestamp, repository: Option<&Path>, placement: Option<&Placement>) -> String {
    let (row, state) = (&view.row, &view.run.state);
    let report = view.report(now);
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(out, "{name:<12}{}", harmless(value));
    };
    line("run", row.id.as_str());
    line("workflow", &row.workflow);
    line("status", state.status_word());
    if let Some(stopped) = &state.stopped {
        line("because", &one_line(&stopped.reason));
    }
    for (name, value) in [("target", &row.target), ("work item", &row.work_id), ("rerun of", &row.rerun_of)] {
        if let Some(value) = value {
            line(name, &one_line(value));
        }
    }
    line("created", &state.created_at.to_string());
    line("duration", &duration_words(report.duration_ms));
    if let Some(used) = report.spent.and_then(used_words) {
        line("used", &used);
    }
    line("found", &findings(state.tally.warnings, state.tally.errors));
    if let Some((under_way, task)) = view.run.task_under_way() {
        line("now", &format!("{} (attempt {})", one_line(&task.id), under_way.attempt));
    }
    if let Some((definition, job)) = view.run.job() {
        line("level", view.run.policy().level.as_deref().unwrap_or("custom"));
        line("phase", &format!("{}, round {}", job.phase.branch(), job.phase.round));
        if let Repository::Existing { directory, .. } = &definition.repository {
            line("origin", &one_line(directory));
        }
        if let Some(repository) = repository {
            line("repository", &repository.display().to_string());
        }
    }
    let phase = view.run.job().map(|(_, job)| job.phase.name()).unwrap_or_default();
    if let Some(link) = view.forge_link(&phase) {
        if let Some(url) = &link.url {
            line("forge", &one_line(url));
        }
        if let Some(trouble) = &link.trouble {
            line("trouble", &one_line(trouble));
        }
    }
    if let Some(placement) = placement.filter(|_| !state.status.is_over()) {
        if let (Some(worker), Some(host)) = (&placement.worker, &placement.host) {
            line("worker", &format!("{worker} on {host}"));
        }
        if let Some(host) = &placement.pinned {
            let because = placement.pinned_because.as_deref().unwrap_or("where its files are");
            line("only on", &format!("{host}, {because}"));
        }
        if !placement.requires.is_empty() {
            line("requires", &placement.requires.join(", "));
        }
        if let Some(why) = &placement.stuck {
            line("waits for", &format!("a worker: {}", one_line(why)));
        }
    }
    if let Some(at) = state.retry_at {
        line("tried again", &format!("{at:.0}, by a server or worker"));
    }
    if let (Some(checkpoint), Some(hold)) = (&view.checkpoint, &state.hold) {
        line("waits at", checkpoint);
        line("question", &one_line(&hold.question()));
        if view.expires_at().is_some_and(|expires_at| expires_at <= now) {
            line("timed out", "nobody answered in time, which counts as a no");
        }
    }
    out.push('\n');
    for (seq, at, event) in &view.history {
        let value = serde_json::to_value(event).unwrap_or_default();
        let word = value.get("event").and_then(Value::as_str).unwrap_or_default().replace('_', " ");
        let line = format!("{seq:>5}  {}  {word:<20}{}", at.strftime("%H:%M:%S"), one_line(&about(event)));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// What an event is about, in a few words.
fn about(event: &RunEvent) -> String {
    match event {
        RunEvent::RunCreated { by, .. } | RunEvent::RunResumed { by } => format!("by {by}"),
        RunEvent::RunPaused { by, reason, retry_at } => {
            let why = reason.clone().unwrap_or_else(|| format!("by {by}"));
            let again = retry_at.map(|at| format!("; tried again at {}", at.strftime("%H:%M:%S")));
            format!("{why}{}", again.unwrap_or_default())
        }
        RunEvent::RunStarted => String::new(),
        RunEvent::PhaseSkipped { phase, .. } | RunEvent::PhaseStarted { phase } => phase.clone(),
        RunEvent::PhaseEnded { phase, status } => format!("{phase}: {}", word(status)),
        RunEvent::AttemptStarted { task, attempt, .. } => format!("{task} attempt {attempt}"),
        RunEvent::AttemptFinished(attempt) => {
            let response = &attempt.response;
            let found = findings(response.warnings.len() as u64, response.errors.len() as u64);
            let message = response.message.as_deref().unwrap_or("");
            format!("{} {}, {found} {message}", attempt.task, word(&response.status))
        }
        RunEvent::AttemptInterrupted { task, why, .. } => format!("{task}: {}", word(why)),
        RunEvent::AttemptSpent { task, used, .. } => {
            let cost = Some(used.cost).filter(|cost| *cost > 0.0);
            format!("{task}: {}", checkrein_core::activity::used(used.tokens, cost))
        }
        RunEvent::Decided(decided) => {
            let because: Vec<String> =
                decided.because.iter().map(|(rule, text)| format!("{rule}: {text}")).collect();
            format!("{}: {}", decided.outcome, because.join("; "))
        }
        RunEvent::CheckedIn { warnings, errors, .. } => findings(*warnings, *errors),
        RunEvent::RunHeld { reason, .. } => reason.clone(),
        RunEvent::HoldReleased { by, .. } => format!("approved by {by}"),
        RunEvent::HoldRejected { by, reason, .. } => {
            format!("rejected by {by}: {}", reason.as_deref().unwrap_or(""))
        }
        RunEvent::LoopedBack { to, retry, because, .. } => format!("to {to}, retry {retry}: {because}"),
        RunEvent::RemedyChosen(remedy) => {
            format!("{} {} by {}", remedy.title, remedy.choice.name(), remedy.by)
        }
        RunEvent::PhaseWorked(work) => {
            let summary = work.result.summary.lines().next().unwrap_or_default();
            let (outcome, files) = (work.result.outcome.name(), count(work.files_total as u64, "file"));
            format!("{outcome}, {files}{} {summary}", no_longer_approved(&work.lapsed))
        }
        RunEvent::PhaseRepeated { phase, because } => format!("{phase}: {because}"),
        RunEvent::PhasePassed { phase, .. } => format!("{phase}: no review required"),
        RunEvent::ChangesRequested { by, reason, start_over, .. } => {
            let over = if *start_over { ", to start over" } else { "" };
            format!("by {by}{over}: {}", reason.as_deref().unwrap_or(""))
        }
        RunEvent::ReviewMoved { head, lapsed, .. } => {
            format!("pushed to, now {head}{}", no_longer_approved(lapsed))
        }
        RunEvent::LandingConflicted { conflict, .. } => conflict.files.join(", "),
        RunEvent::PhaseLanded { phase, landed } => match (&landed.published, landed.changed) {
            (Some(published), _) => format!("{phase}: {published}"),
            (None, true) => format!("{phase}: main is at {}", landed.main),
            (None, false) => format!("{phase}: nothing to merge"),
        },
        RunEvent::PolicyChanged { by, level, .. } => {
            format!("to {} by {by}", level.as_deref().unwrap_or("custom"))
        }
        RunEvent::Commented(comment) => format!("{} by {}: {}", comment.id, comment.by, comment.text),
        RunEvent::ThreadResolved { comment, resolved, by } => {
            format!("{comment} is {} for {by}", if *resolved { "settled" } else { "open again" })
        }
        RunEvent::FileMarked { file, mark, by, .. } => {
            format!("{file} {} by {by}", mark.map_or("not marked", |mark| mark.name()))
        }
        RunEvent::Forge(news) => forge(news),
        RunEvent::RunCancelled { by, reason } => format!("by {by} {}", reason.as_deref().unwrap_or("")),
        RunEvent::RunEnded { status, reason, .. } => {
            format!("{status} {}", reason.as_deref().unwrap_or(""))
        }
    }
}

fn forge(news: &ForgeNews) -> String {
    match news {
        ForgeNews::PullOpened { pull } => format!("{}: opened {}", pull.phase, pull.url),
        ForgeNews::PullShown { number, head, .. } => format!("pull request {number} shows {head}"),
        ForgeNews::PullSettled { number, how: Settled::Merged } => format!("pull request {number} is merged"),
        ForgeNews::PullSettled { number, how: Settled::Closed } => format!("pull request {number} is closed"),
        ForgeNews::Heard { id } => format!("heard {id}"),
        ForgeNews::Barred { text } => text.clone(),
        ForgeNews::Trouble { text: Some(text) } => format!("trouble: {text}"),
        ForgeNews::Trouble { text: None } => "no trouble any more".to_owned(),
    }
}

fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Files whose approval ended because they changed.
fn no_longer_approved(lapsed: &[String]) -> String {
    if lapsed.is_empty() { String::new() } else { format!("; no longer approved: {}", lapsed.join(", ")) }
}
