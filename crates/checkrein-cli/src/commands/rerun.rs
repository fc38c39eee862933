use crate::driving::{Driving, TakeUp};
use crate::error::{CliError, note};
use crate::output::{Output, one_line};
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run whose work is done again, under a new id
    run: String,
    #[command(flatten)]
    driving: Driving,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open()?;
    let who = session.principal()?;
    let id = session.wait(session.engine.rerun(&who, &args.run))?;
    note(format_args!("run {id}: again what {} was", one_line(&args.run)));
    args.driving.drive(&session, id.as_str(), TakeUp::New)
}
