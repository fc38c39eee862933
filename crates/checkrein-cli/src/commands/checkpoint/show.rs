use checkrein_server::wire::checkpoint::WholeCheckpoint;

use super::shape;
use crate::error::CliError;
use crate::output::Output;
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The checkpoint
    id: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open_to_read()?;
    let who = session.principal()?;
    let view = session.wait(session.engine.checkpoint(&who, &args.id))?;
    if args.json {
        Output::json(&WholeCheckpoint::from(&view))
    } else {
        Ok(Output::text(shape::described(&view)))
    }
}
