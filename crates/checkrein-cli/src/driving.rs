//! Drives a run from the terminal: shows it, asks the person, reports.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::pin::pin;

use checkrein_core::checkpoint::Verdict;
use checkrein_core::omission::{Omission, listed};
use checkrein_core::run::{HoldKind, Run, RunEvent, RunStatus};
use checkrein_engine::{ClaimedRun, Driver, EngineError, Judged, Rest, RunView, VerdictRequest};
use checkrein_server::error::Kind;
use checkrein_server::wire::checkpoint::WholeCheckpoint;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use crate::commands::report::Shape;
use crate::error::{CliError, Exit, note, say};
use crate::output::{self, Output, harmless, one_line};
use crate::progress::Progress;
use crate::prompt::{Chosen, choose};
use crate::remedies;
use crate::remote::Remote;
use crate::review::{self, Side};
use crate::session::{Session, inside_attempt};

/// How a run is driven here.
#[derive(Clone, Debug, clap::Args)]
pub struct Driving {
    /// Answer check-ins with yes; never a gate, a prompt or a violation
    #[arg(long)]
    yes: bool,
    /// One event per line on stdout, for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    shape: Shape,
}

/// What becomes of a run once it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GoesOn {
    /// A server goes on with it.
    Server,
    /// Whoever resumes it.
    Nobody,
}

/// What a check-in, a gate and a prompt may be answered.
const CHECK_IN: [&str; 3] = ["Continue", "Review issues", "Stop workflow"];
const STOPPED: &str = "stopped at the terminal";

/// Which run is taken up.
pub enum TakeUp<'r> {
    /// One that was just made for this process.
    New(ClaimedRun),
    /// One that was made before, from its beginning.
    Begin(&'r str),
    /// One that was stopped, where it was stopped.
    Resume(&'r str),
}

impl Driving {
    pub const fn json(&self) -> bool {
        self.json
    }

    pub fn drive(&self, session: &Session, run: TakeUp<'_>) -> Result<Output, CliError> {
        if self.yes && inside_attempt() {
            return Err(CliError::failed("a check-in cannot be answered from inside an agent's attempt")
                .hint("leave `--yes` out; the run holds and a person answers"));
        }
        session.wait(self.driven(session, run))
    }

    /// Watches a run that a server drives.
    pub fn follow(&self, remote: &Remote, id: &str, known: u64) -> Result<Output, CliError> {
        remote.wait(self.followed(remote, id, known))
    }

    async fn followed(&self, remote: &Remote, id: &str, known: u64) -> Result<Output, CliError> {
        let mut stop = interrupts()?;
        let mut progress = Progress::new(self.json);
        let (mut known, mut answered) = (known, None);
        loop {
            let view = tokio::select! {
                view = remote.follow(id, known, answered.as_deref(), &mut progress) => view?,
                Ok(_) = stop.wait_for(|stop| *stop) => return Err(left_alone(&mut progress, id)),
            };
            progress.rest();
            let now = checkrein_engine::now();
            let Some(checkpoint) = view.checkpoint.clone() else { return self.ended(&view, now) };
            if !self.answer_there(remote, &view, &checkpoint, &stop).await? {
                return self.held(&view, &checkpoint, GoesOn::Server, now);
            }
            (known, answered) = (view.run.state.version, Some(checkpoint));
            progress.go_on();
        }
    }

    /// Whether there is a verdict now.
    async fn answer_there(
        &self,
        remote: &Remote,
        view: &RunView,
        checkpoint: &str,
        stop: &watch::Receiver<bool>,
    ) -> Result<bool, CliError> {
        let Some(hold) = view.run.state.hold.as_ref().filter(|_| !inside_attempt()) else { return Ok(false) };
        let question = one_line(&hold.question());
        let answers = self.yes && hold.kind == HoldKind::CheckIn;
        if !answers && !self.is_interactive() {
            return Ok(false);
        }
        if !answers && hold.kind == HoldKind::Review {
            return review::ask(Side::There(remote), checkpoint, &question, stop).await;
        }
        let asked: WholeCheckpoint = remote.get_async(&["checkpoints", checkpoint], &[]).await?;
        let verdict = if answers {
            Some((Verdict::Approve, Some("--yes")))
        } else {
            say(&summary(&asked.deliverable));
            let side = Side::There(remote);
            let mut settled = pin!(side.settled(checkpoint));
            loop {
                let chosen = tokio::select! {
                    biased;
                    how = &mut settled => return Ok(review::over(&how)),
                    chosen = choose(&question, &CHECK_IN, stop) => chosen,
                };
                match chosen {
                    Chosen::Option(1) => match confirmed(&asked.deliverable, stop).await {
                        Some(true) => break Some((Verdict::Approve, None)),
                        Some(false) => {}
                        None => break None,
                    },
                    Chosen::Option(2) => say(&details(&asked.deliverable)),
                    Chosen::Option(_) => break Some((Verdict::Reject, Some(STOPPED))),
                    Chosen::Nobody => break None,
                }
            }
        };
        let Some((verdict, reason)) = verdict else { return Ok(false) };
        // The verdict is about what was shown.
        let request = VerdictRequest {
            judged: Some(Judged::Digest(asked.checkpoint.digest)),
            confirmed: true,
            ..VerdictRequest::new(verdict, reason.map(str::to_owned))
        };
        match Side::There(remote).decide(checkpoint, &request).await {
            // Somebody else was faster; their verdict counts.
            Err(error) if error.kind() == Some(Kind::AlreadyDecided) => Ok(true),
            answered => answered.map(|_| true),
        }
    }

    /// Whether somebody can be asked.
    fn is_interactive(&self) -> bool {
        !self.json && !inside_attempt() && at_terminal()
    }

    async fn driven(&self, session: &Session, run: TakeUp<'_>) -> Result<Output, CliError> {
        let stop = interrupts()?;
        let who = session.principal_async().await?;
        if let TakeUp::Resume(id) | TakeUp::Begin(id) = &run {
            // What is refused leaves nothing behind (R14).
            session.engine.run(&who, id).await?;
        }
        session.engine.tidy().await;
        let mut progress = Progress::new(self.json);
        let mut driver = match run {
            TakeUp::Resume(id) => {
                let mut driver = session.engine.drive_run(&who, id, &mut progress).await?;
                driver.resume(&mut progress).await?;
                driver
            }
            TakeUp::Begin(id) => {
                let driver = session.engine.drive_run(&who, id, &mut progress).await?;
                driver.retell(&mut progress);
                driver
            }
            TakeUp::New(claimed) => {
                let driver = session.engine.drive_claimed(&who, claimed, &mut progress).await?;
                driver.retell(&mut progress);
                driver
            }
        };
        let interactive = self.is_interactive();
        loop {
            match driver.go(&stop, &mut progress).await? {
                Rest::Ended => {
                    progress.rest();
                    let output = self.ended(driver.view(), session.engine.now())?;
                    let report = driver.view().report(session.engine.now());
                    if !interactive || report.remedies.is_empty() {
                        return Ok(output);
                    }
                    // What is chosen from is shown first.
                    output.show()?;
                    remedies::offer(&mut driver, report, !self.shape.lists_remedies(), &stop, &mut progress)
                        .await?;
                    return Ok(Output::text("").exit(exit(&driver.view().run, &driver.view().history)));
                }
                Rest::Troubled { text } => {
                    progress.rest();
                    return self.troubled(driver.view(), &text, session.engine.now());
                }
                Rest::Elsewhere { labels } => {
                    progress.rest();
                    return self.elsewhere(driver.view(), &labels, session.engine.now());
                }
                Rest::Held { checkpoint } => {
                    progress.rest();
                    let answered = self
                        .answer(session, &mut driver, &checkpoint, interactive, &stop, &mut progress)
                        .await?;
                    if !answered {
                        return self.held(driver.view(), &checkpoint, GoesOn::Nobody, session.engine.now());
                    }
                    progress.go_on();
                }
            }
        }
    }

    /// Whether there is a verdict now.
    async fn answer(
        &self,
        session: &Session,
        driver: &mut Driver<'_>,
        checkpoint: &str,
        interactive: bool,
        stop: &watch::Receiver<bool>,
        progress: &mut Progress,
    ) -> Result<bool, CliError> {
        let Some(hold) = driver.view().run.state.hold.clone() else { return Ok(false) };
        let give = async |verdict: Verdict, reason: Option<String>| -> Result<bool, CliError> {
            let who = session.principal_async().await?;
            // Who says `--yes` goes on with whatever is found; everybody else was asked.
            let request = VerdictRequest { confirmed: true, ..VerdictRequest::new(verdict, reason) };
            match session.engine.give_verdict(&who, checkpoint, &request).await {
                Ok(_) => Ok(true),
                // Somebody else was faster, or the deadline was; that counts.
                Err(error @ EngineError::Refused(_)) => {
                    say(&format!("This answer does not count: {}.\n", one_line(&error.to_string())));
                    Ok(true)
                }
                Err(error) => Err(error.into()),
            }
        };
        if self.yes && hold.kind == HoldKind::CheckIn {
            return give(Verdict::Approve, Some("--yes".to_owned())).await;
        }
        if !interactive {
            return Ok(false);
        }
        if hold.kind == HoldKind::Review {
            let who = session.judge_async().await?;
            let question = one_line(&hold.question());
            return review::ask(
                Side::Here { engine: &session.engine, by: &who },
                checkpoint,
                &question,
                stop,
            )
            .await;
        }
        let who = session.principal_async().await?;
        let view = session.engine.checkpoint(&who, checkpoint).await?;
        let asked: Value = view
            .content
            .as_ref()
            .map(|content| &content.bytes)
            .map_or(Value::Null, |bytes| serde_json::from_slice(bytes).unwrap_or_default());
        say(&summary(&asked));
        let side = Side::Here { engine: &session.engine, by: &who };
        let mut settled = pin!(side.settled(checkpoint));
        loop {
            let question = one_line(&hold.question());
            let chosen = tokio::select! {
                biased;
                how = &mut settled => return Ok(review::over(&how)),
                chosen = choose(&question, &CHECK_IN, stop) => chosen,
            };
            match chosen {
                Chosen::Option(1) => {
                    if let Some(answer) = confirmed(&asked, stop).await {
                        return if answer { give(Verdict::Approve, None).await } else { continue };
                    }
                    return Ok(false);
                }
                Chosen::Option(2) => {
                    say(&details(&asked));
                    let since = driver.since_check_in();
                    if !since.remedies.is_empty() {
                        remedies::offer(driver, since, true, stop, progress).await?;
                    }
                }
                Chosen::Option(_) => {
                    return give(Verdict::Reject, Some(STOPPED.to_owned())).await;
                }
                Chosen::Nobody => return Ok(false),
            }
        }
    }

    fn held(
        &self,
        view: &RunView,
        checkpoint: &str,
        goes_on: GoesOn,
        now: Timestamp,
    ) -> Result<Output, CliError> {
        let (id, hold) = (&view.run.id, view.run.state.hold.as_ref());
        let question = one_line(&hold.map(|hold| hold.question()).unwrap_or_default());
        // Over HTTP a verdict on a review names what was looked at.
        let digest = if goes_on == GoesOn::Server { " --digest DIGEST" } else { "" };
        let how = match (hold.map(|hold| hold.kind), goes_on) {
            (Some(HoldKind::Review), _) => {
                let then = match goes_on {
                    GoesOn::Server => "and the server goes on".to_owned(),
                    GoesOn::Nobody => format!("then `checkrein resume {id}` goes on"),
                };
                format!(
                    "`checkrein review {checkpoint}` shows it, and takes comments and your verdict\n  \
                     `checkrein approve {checkpoint}{digest}`, `checkrein request-changes {checkpoint} -m WHAT{digest}` or \
                     `checkrein reject {checkpoint} -m WHY{digest}` answers, {then}"
                )
            }
            (_, GoesOn::Server) => format!(
                "`checkrein checkpoint show {checkpoint}` shows what it is about\n  \
                 `checkrein approve {checkpoint}` goes on, `checkrein reject {checkpoint} -m WHY` stops it"
            ),
            (_, GoesOn::Nobody) => format!(
                "`checkrein checkpoint show {checkpoint}` shows what it is about\n  \
                 `checkrein approve {checkpoint}` and `checkrein resume {id}` go on, \
                 `checkrein reject {checkpoint} -m WHY` stops it"
            ),
        };
        let phase = hold.and_then(|hold| hold.boundary.phase.clone()).unwrap_or_default();
        let url = view.forge_link(&phase).and_then(|link| link.url);
        let there = url.map(|url| format!("\n  or in the forge: {}", one_line(&url))).unwrap_or_default();
        note(format_args!("run {id} waits for a person: {question}\n  {how}{there}"));
        // Whoever left the question does not want to leave a pager as well.
        Ok(self.report(view, now)?.at_once().exit(Exit::Held))
    }

    /// It waits, though not for a person.
    fn troubled(&self, view: &RunView, text: &str, now: Timestamp) -> Result<Output, CliError> {
        let id = &view.run.id;
        note(format_args!(
            "run {id} waits for its forge: {}\n  `checkrein resume {id}` asks it again; `checkrein worker` and a server do so by themselves",
            one_line(text)
        ));
        Ok(self.report(view, now)?.at_once().exit(Exit::Held))
    }

    /// It goes on, though not here.
    fn elsewhere(&self, view: &RunView, labels: &[String], now: Timestamp) -> Result<Output, CliError> {
        let id = &view.run.id;
        note(format_args!(
            "run {id} waits for a worker that has {}\n  `checkrein workers` shows who there is; `checkrein worker --label {}` is one",
            labels.join(", "),
            labels.join(" --label ")
        ));
        Ok(self.report(view, now)?.at_once().exit(Exit::Held))
    }

    fn ended(&self, view: &RunView, now: Timestamp) -> Result<Output, CliError> {
        let exit = exit(&view.run, &view.history);
        let id = &view.run.id;
        match view.run.state.status {
            RunStatus::Paused => match view.run.state.retry_at {
                Some(at) => note(format_args!(
                    "run {id} is paused until its model answers again: a server or `checkrein worker` tries at {at:.0}, \
                     `checkrein resume {id}` does so now"
                )),
                None => {
                    let why = paused_because(&view.history).map(|why| format!(": {}", one_line(&why)));
                    note(format_args!(
                        "run {id} is paused{}\n  `checkrein resume {id}` goes on",
                        why.unwrap_or_default()
                    ));
                }
            },
            RunStatus::Failed => {
                let reason = view.run.state.stopped.as_ref().map(|stopped| one_line(&stopped.reason));
                note(format_args!(
                    "run {id} stopped: {}\n  `checkrein log {id}` shows its output, `checkrein resume {id}` goes on",
                    reason.unwrap_or_default()
                ));
            }
            _ => published(view),
        }
        Ok(self.report(view, now)?.exit(exit))
    }

    /// Always shown, but not among the events for programs.
    fn report(&self, view: &RunView, now: Timestamp) -> Result<Output, CliError> {
        if self.json { Ok(Output::text("")) } else { self.shape.output(&view.report(now)) }
    }
}

/// Whoever stops watching does not stop what a server does.
fn left_alone(progress: &mut Progress, id: &str) -> CliError {
    progress.rest();
    CliError::failed(format!("nobody watches run `{id}` any more; the server goes on with it"))
        .hint(format!("`checkrein resume {id}` watches it again, `checkrein cancel {id}` ends it"))
}

/// Where the result of a job is.
fn published(view: &RunView) {
    let landed = view.history.iter().rev().find_map(|(_, _, event)| match event {
        RunEvent::PhaseLanded { landed, .. } => Some(landed),
        _ => None,
    });
    for text in landed.iter().flat_map(|landed| landed.published.iter().chain(&landed.notes)) {
        note(one_line(text));
    }
}

/// What a script is told by the exit code (X2, X3).
pub fn exit(run: &Run, history: &[(u64, Timestamp, RunEvent)]) -> Exit {
    match run.state.status {
        RunStatus::Completed | RunStatus::CompletedWithWarnings => Exit::Done,
        RunStatus::Held => Exit::Held,
        RunStatus::Failed if run.state.stopped.as_ref().is_some_and(|stopped| stopped.rule.is_some()) => {
            Exit::Stopped
        }
        RunStatus::Paused | RunStatus::Cancelled if was_rejected(history) => Exit::Rejected,
        RunStatus::Paused => Exit::Paused,
        _ => Exit::Failed,
    }
}

/// Whether a person's no set the run aside. Other things may have been recorded since: a remedy, news of the forge.
fn was_rejected(history: &[(u64, Timestamp, RunEvent)]) -> bool {
    let set_aside = |(.., event): &(u64, Timestamp, RunEvent)| {
        matches!(event, RunEvent::RunPaused { .. } | RunEvent::RunCancelled { .. })
    };
    let last = history.iter().rposition(set_aside);
    let before = last.and_then(|last| history.get(last.checked_sub(1)?));
    before.is_some_and(|(.., event)| matches!(event, RunEvent::HoldRejected { .. }))
}

/// Why a run is paused, where somebody said so: the reason of the pause, or of the no that made it.
pub fn paused_because(history: &[(u64, Timestamp, RunEvent)]) -> Option<String> {
    let paused = history.iter().rposition(|(.., event)| matches!(event, RunEvent::RunPaused { .. }))?;
    let (.., event) = history.get(paused)?;
    if let RunEvent::RunPaused { reason: Some(reason), .. } = event {
        return Some(reason.clone());
    }
    match history.get(paused.checked_sub(1)?) {
        Some((.., RunEvent::HoldRejected { by, reason, .. })) => {
            let reason = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            Some(format!("rejected by {by}{reason}"))
        }
        _ => None,
    }
}

pub fn at_terminal() -> bool {
    let calm = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    !calm && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Becomes true when somebody wants this to end: a key, a signal, a closed terminal.
pub fn interrupts() -> Result<watch::Receiver<bool>, CliError> {
    use tokio::signal::unix::{SignalKind, signal};
    let (wanted, stop) = watch::channel(false);
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    for kind in kinds {
        let mut signal =
            signal(kind).map_err(|error| CliError::failed(format!("signals cannot be heard: {error}")))?;
        let wanted = wanted.clone();
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                let _ = wanted.send(true);
            }
        });
    }
    Ok(stop)
}

/// What a check-in shows at once.
/// Whether to approve what is not shown as well; none where nobody answers.
async fn confirmed(asked: &Value, stop: &watch::Receiver<bool>) -> Option<bool> {
    let omissions = Omission::of_asked(asked);
    if omissions.is_empty() {
        return Some(true);
    }
    let question = format!("Not shown: {}. Continue all the same?", one_line(&listed(&omissions)));
    match choose(&question, &["Continue", "Back"], stop).await {
        Chosen::Option(option) => Some(option == 1),
        Chosen::Nobody => None,
    }
}

fn summary(asked: &Value) -> String {
    let text = |name: &str| asked.get(name).and_then(Value::as_str).map(one_line);
    let count = |name: &str| asked.pointer(&format!("/counts/{name}")).and_then(Value::as_u64).unwrap_or(0);
    let mut out = String::from("\n");
    let _ = writeln!(
        out,
        "{} · {}{}",
        text("kind").unwrap_or_default().replace('_', "-"),
        text("phase").unwrap_or_else(|| "workflow".to_owned()),
        text("step").map(|step| format!(" · {step}")).unwrap_or_default()
    );
    let question = text("question");
    if let Some(reason) =
        text("reason").filter(|reason| !reason.is_empty() && Some(reason) != question.as_ref())
    {
        let _ = writeln!(out, "  {reason}");
    }
    let found = output::findings(count("warnings"), count("errors"));
    let _ = writeln!(out, "  since the last check-in: {found}");
    for (kind, name) in [("error", "errors"), ("warning", "warnings")] {
        let findings = list(asked, name);
        for finding in findings.iter().take(SUMMARY_MAX) {
            let _ = writeln!(out, "  {kind} {}", finding_line(finding));
        }
        more(&mut out, findings.len(), name);
    }
    let artifacts = list(asked, "artifacts");
    for artifact in artifacts.iter().take(SUMMARY_MAX) {
        let _ = writeln!(out, "  artifact {}", one_line(artifact.as_str().unwrap_or(&artifact.to_string())));
    }
    more(&mut out, artifacts.len(), "artifacts");
    let actions = list(asked, "recommended_actions");
    for action in actions.iter().take(SUMMARY_MAX) {
        let _ = writeln!(out, "  recommended: {}", action_line(action));
    }
    more(&mut out, actions.len(), "recommended actions");
    not_shown(&mut out, asked);
    out
}

/// So many of a kind are in a summary.
const SUMMARY_MAX: usize = 10;

fn more(out: &mut String, count: usize, name: &str) {
    if let Some(more) = count.checked_sub(SUMMARY_MAX).filter(|more| *more > 0) {
        let _ = writeln!(out, "  … and {more} more {name}");
    }
}

fn not_shown(out: &mut String, asked: &Value) {
    for omission in Omission::of_asked(asked) {
        let _ = writeln!(out, "  not shown: {}", one_line(&omission.to_string()));
    }
}

/// Everything there is to see.
fn details(asked: &Value) -> String {
    let mut out = String::from("\n");
    for name in ["errors", "warnings"] {
        for finding in list(asked, name) {
            let _ = writeln!(out, "{}", finding_line(finding));
            for (label, key) in [("Analysis", "analysis"), ("Fix", "suggested_fix")] {
                match finding.get(key) {
                    Some(Value::String(text)) => {
                        let _ = writeln!(out, "  └─ {label}: {}", harmless(text));
                    }
                    Some(fix @ Value::Object(_)) => {
                        let _ = writeln!(out, "  └─ {label}: {}", action_line(fix));
                    }
                    _ => {}
                }
            }
        }
    }
    for artifact in list(asked, "artifacts").iter().skip(SUMMARY_MAX) {
        let _ = writeln!(out, "artifact {}", one_line(artifact.as_str().unwrap_or(&artifact.to_string())));
    }
    for action in list(asked, "recommended_actions").iter().skip(SUMMARY_MAX) {
        let _ = writeln!(out, "recommended: {}", action_line(action));
    }
    not_shown(&mut out, asked);
    if out.trim().is_empty() {
        out.push_str("There are no findings since the last check-in.\n");
    }
    out
}

fn list<'v>(asked: &'v Value, name: &str) -> &'v [Value] {
    asked.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn finding_line(finding: &Value) -> String {
    let text = |name: &str| finding.get(name).and_then(Value::as_str).map(one_line).unwrap_or_default();
    format!("{} [{}] [{}] {}", text("step_id"), text("severity"), text("category"), text("text"))
}

fn action_line(action: &Value) -> String {
    let text = |name: &str| action.get(name).and_then(Value::as_str).map(one_line);
    let mut line = text("description").unwrap_or_default();
    if let Some(command) = text("command") {
        line.push_str(&format!(" · {command}"));
    }
    if let Some(file) = text("file") {
        line.push_str(&format!(" · {file}"));
    }
    line
}
