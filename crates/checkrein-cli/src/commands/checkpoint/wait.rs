use std::time::Duration;

use checkrein_core::checkpoint::Checkpoint;
use checkrein_engine::CheckpointView;
use checkrein_server::wire::checkpoint::WholeCheckpoint;

use super::shape;
use crate::error::CliError;
use crate::output::{Output, one_line};
use crate::session::StorePlace;

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
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open()?;
    let who = session.principal()?;
    let view = session.wait(session.engine.wait_for_checkpoint(&who, &args.id, args.timeout))?;
    answer(&view, args.json)
}

pub fn answer(view: &CheckpointView, json: bool) -> Result<Output, CliError> {
    let exit = shape::exit(view.checkpoint.status);
    let output =
        if json { Output::json(&WholeCheckpoint::from(view))? } else { Output::text(line(&view.checkpoint)) };
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
