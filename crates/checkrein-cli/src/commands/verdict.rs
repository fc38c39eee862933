//! What the three verdicts share.

use checkrein_core::checkpoint::{self, CheckpointStatus, Verdict};
use checkrein_core::deliverable::Digest;
use checkrein_engine::VerdictRequest;
use checkrein_server::wire::checkpoint::Checkpoint;

use crate::error::{CliError, Exit, note};
use crate::output::Output;
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Target {
    /// The checkpoints to decide
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// What was looked at; a checkpoint that holds something else is not decided
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    digest: Option<Digest>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

fn digest(text: &str) -> Result<Digest, String> {
    Digest::parse(text).ok_or_else(|| "expected a SHA-256 digest, 64 hexadecimal digits".to_owned())
}

/// Decides one after the other; one that cannot be decided does not keep the rest from it.
pub fn give(target: &Target, verdict: Verdict, reason: Option<String>) -> Result<Output, CliError> {
    let session = target.store.open()?;
    let who = session.judge()?;
    let request = VerdictRequest { verdict, reason, digest: target.digest, version: None };
    let mut decided: Vec<checkpoint::Checkpoint> = Vec::new();
    let mut failed = None;
    for id in &target.ids {
        match session.wait(session.engine.give_verdict(&who, id, &request)) {
            Ok(checkpoint) => decided.push(checkpoint),
            Err(error) if target.ids.len() == 1 => return Err(error.into()),
            Err(error) => {
                let error = CliError::from(error);
                failed.get_or_insert(error.exit());
                let _ = error.report();
            }
        }
    }
    for (run, status) in decided.iter().filter_map(|c| Some((c.run.as_deref()?, c.status))) {
        let then = match status {
            CheckpointStatus::Approved => "goes on",
            _ => "pauses the run; once more, and it asks again",
        };
        note(format_args!("`checkrein resume {run}` {then}"));
    }
    let output = if target.json {
        let shapes: Vec<Checkpoint> = decided.iter().map(Checkpoint::from).collect();
        match shapes.as_slice() {
            [one] if target.ids.len() == 1 => Output::json(one)?,
            _ => Output::json(&shapes)?,
        }
    } else {
        Output::text(decided.iter().map(|c| format!("{} {}\n", c.status, c.id)).collect::<String>())
    };
    Ok(output.exit(failed.unwrap_or(Exit::Done)))
}
