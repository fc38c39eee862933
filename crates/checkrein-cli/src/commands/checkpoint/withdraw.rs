use checkrein_server::wire::checkpoint::Checkpoint;
use serde_json::json;

use super::wait;
use crate::error::CliError;
use crate::output::Output;
use crate::session::{Desk, DeskPlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The checkpoint
    id: String,
    /// Why
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let reason = args.message.clone();
    let checkpoint = match args.store.desk_if_there()? {
        Desk::Here(session) => {
            let who = session.asker()?;
            Checkpoint::from(&session.wait(session.engine.withdraw_checkpoint(&who, &args.id, reason, None))?)
        }
        Desk::There(remote) => {
            outside_attempt("a checkpoint cannot be withdrawn")?;
            remote.post(&["checkpoints", &args.id, "withdraw"], &json!({"reason": reason}))?
        }
    };
    if args.json {
        return Output::json(&checkpoint);
    }
    Ok(Output::text(wait::line(&checkpoint)))
}
