use crate::driving::{Driving, TakeUp};
use crate::error::CliError;
use crate::output::Output;
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, or a beginning or end of its id that no other has
    run: String,
    #[command(flatten)]
    driving: Driving,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open()?;
    args.driving.drive(&session, &args.run, TakeUp::Resume)
}
