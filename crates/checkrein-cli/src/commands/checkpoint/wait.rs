use std::time::Duration;

use checkrein_core::checkpoint::TIMEOUT;
use checkrein_server::wire::checkpoint::{Checkpoint, WholeCheckpoint};

use super::shape;
use crate::error::CliError;
use crate::output::{Output, one_line};
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The checkpoint
    id: String,
    /// How long to wait at most, such as 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    wait(&args.store.desk_if_there()?, &args.id, args.timeout, args.json)
}

pub fn wait(desk: &Desk, id: &str, timeout: Option<Duration>, json: bool) -> Result<Output, CliError> {
    let whole = match desk {
        Desk::Here(session) => {
            let who = session.principal()?;
            let seen = session.wait(session.engine.wait_for_checkpoint(&who, id, timeout))?;
            // Where the store can only be read, it still counts as rejected.
            if seen.checkpoint.resolved_by.as_deref() == Some(TIMEOUT) {
                let _ = session.wait(session.engine.record_timeouts());
            }
            WholeCheckpoint::from(&seen)
        }
        Desk::There(remote) => remote.wait_for_checkpoint(id, timeout)?,
    };
    let exit = shape::exit(whole.checkpoint.status);
    let output = if json { Output::json(&whole)? } else { Output::text(line(&whole.checkpoint)) };
    Ok(output.exit(exit))
}

/// `approved ID`, and why.
pub fn line(checkpoint: &Checkpoint) -> String {
    let why = checkpoint.reason.as_ref().map_or(String::new(), |reason| format!(": {}", one_line(reason)));
    format!("{} {}{why}\n", checkpoint.status, checkpoint.id)
}

pub fn duration(text: &str) -> Result<Duration, String> {
    let parsed = checkrein_core::duration::parse(text);
    parsed.ok_or_else(|| "expected a length of time such as 90s, 10m or 1h30m".to_owned())
}
