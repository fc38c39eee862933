use checkrein_server::wire::checkpoint::Checkpoint;

use super::wait;
use crate::error::CliError;
use crate::output::Output;
use crate::session::StorePlace;

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
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open()?;
    let who = session.judge()?;
    let checkpoint =
        session.wait(session.engine.withdraw_checkpoint(&who, &args.id, args.message.clone()))?;
    if args.json {
        return Output::json(&Checkpoint::from(&checkpoint));
    }
    Ok(Output::text(wait::line(&checkpoint)))
}
