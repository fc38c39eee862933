use checkrein_server::wire::run::Run;
use serde_json::json;

use crate::driving::{Driving, TakeUp};
use crate::error::CliError;
use crate::output::Output;
use crate::session::{Desk, DeskPlace};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, or a beginning or end of its id that no other has
    run: String,
    #[command(flatten)]
    driving: Driving,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    match args.store.desk_if_there()? {
        Desk::Here(session) => args.driving.drive(&session, TakeUp::Resume(&args.run)),
        Desk::There(remote) => {
            let known = remote.view(&args.run)?.run.state.version;
            let run: Run = remote.post(&["runs", &args.run, "resume"], &json!({}))?;
            // Without a verdict nothing goes on, and there is nothing to wait for.
            let known = if run.checkpoint.is_some() { known.saturating_sub(1) } else { known };
            args.driving.follow(&remote, &run.run_id, known)
        }
    }
}
