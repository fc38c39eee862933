use checkrein_server::wire::checkpoint::WholeCheckpoint;

use super::shape;
use crate::error::CliError;
use crate::output::Output;
use crate::session::{Desk, StorePlace};

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
    let whole = match args.store.desk_to_read()? {
        Desk::Here(session) => {
            let who = session.principal()?;
            WholeCheckpoint::from(&session.wait(session.engine.checkpoint(&who, &args.id))?)
        }
        Desk::There(remote) => remote.checkpoint(&args.id)?,
    };
    if args.json { Output::json(&whole) } else { Ok(Output::text(shape::described(&whole))) }
}
