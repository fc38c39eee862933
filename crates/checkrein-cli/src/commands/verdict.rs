//! What the three verdicts share.

use checkrein_core::checkpoint::{self, CheckpointStatus};
use checkrein_core::principal::Principal;
use checkrein_core::run::job::NewComment;
use checkrein_engine::{Judged, VerdictRequest};
use checkrein_server::wire::checkpoint::{Checkpoint, VerdictBody};

use crate::error::{CliError, Exit, note};
use crate::output::Output;
use crate::session::{Desk, DeskPlace, Session, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Target {
    /// The checkpoints to decide, or the runs that wait at them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// What was looked at; a checkpoint that holds something else is not decided
    #[arg(long, value_name = "DIGEST", value_parser = judged)]
    digest: Option<Judged>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

fn judged(text: &str) -> Result<Judged, String> {
    let expected = "expected a SHA-256 digest, 64 hexadecimal digits, or the commit of a review, 40 of them";
    Judged::parse(text).ok_or_else(|| expected.to_owned())
}

/// `plan.md:12=too long`, `plan.md=too long`, or a text about the whole.
pub fn comment(text: &str) -> Result<NewComment, String> {
    let whole = |text: &str| NewComment { text: text.to_owned(), ..NewComment::default() };
    let comment = match text.split_once('=') {
        None => whole(text),
        Some((place, text)) => {
            let (file, line) = match place.rsplit_once(':') {
                Some((file, number)) => match number.parse::<u32>() {
                    Ok(number) if number > 0 => (file, Some(number)),
                    _ => return Err(format!("`{number}` is no line number; expected FILE:LINE=TEXT")),
                },
                None => (place, None),
            };
            NewComment { file: Some(file.to_owned()), line, ..whole(text) }
        }
    };
    if comment.text.trim().is_empty() || comment.file.as_deref() == Some("") {
        return Err("expected FILE:LINE=TEXT".to_owned());
    }
    Ok(comment)
}

/// Decides one after the other; one that cannot be decided does not keep the rest from it.
pub fn give(target: &Target, request: VerdictRequest) -> Result<Output, CliError> {
    let request = VerdictRequest { judged: target.digest.clone(), ..request };
    let desk = target.store.desk_if_there()?;
    let who = match &desk {
        Desk::Here(session) => Some(session.judge()?),
        Desk::There(_) => outside_attempt("a verdict cannot be given").map(|()| None)?,
    };
    let mut decided: Vec<Checkpoint> = Vec::new();
    let mut failed = None;
    for id in &target.ids {
        let given = match (&desk, &who) {
            (Desk::Here(session), Some(who)) => {
                let given = session.wait(session.engine.give_verdict(who, id, &request));
                given.map_err(CliError::from).map(|checkpoint| {
                    next(session, who, &checkpoint);
                    Checkpoint::from(&checkpoint)
                })
            }
            (Desk::There(remote), _) => {
                remote.post(&["checkpoints", id, "verdict"], &VerdictBody::from(&request))
            }
            (Desk::Here(_), None) => continue,
        };
        match given {
            Ok(checkpoint) => decided.push(checkpoint),
            Err(error) if target.ids.len() == 1 => return Err(error),
            Err(error) => {
                failed.get_or_insert(error.exit());
                let _ = error.report();
            }
        }
    }
    let output = if target.json {
        match decided.as_slice() {
            [one] if target.ids.len() == 1 => Output::json(one)?,
            _ => Output::json(&decided)?,
        }
    } else {
        Output::text(decided.iter().map(|c| format!("{} {}\n", c.status, c.id)).collect::<String>())
    };
    Ok(output.exit(failed.unwrap_or(Exit::Done)))
}

/// Says what to do after a verdict.
fn next(session: &Session, who: &Principal, decided: &checkpoint::Checkpoint) {
    let Some(run) = decided.run.as_deref() else { return };
    let going_on = matches!(decided.status, CheckpointStatus::Approved | CheckpointStatus::ChangesRequested);
    if going_on || session.wait(session.engine.run(who, run)).is_ok_and(|view| view.run.job().is_some()) {
        return next_of_job(run, decided.status);
    }
    note(format_args!("`checkrein resume {run}` pauses the run; once more, and it asks again"));
}

/// The same where it was the review of a job.
pub fn next_of_job(run: &str, status: CheckpointStatus) {
    let then = match status {
        CheckpointStatus::Approved => "goes on",
        CheckpointStatus::ChangesRequested => "begins the next round",
        _ => return note(format_args!("job {run} is cancelled; its branches are kept")),
    };
    note(format_args!("`checkrein resume {run}` {then}"));
}
