use checkrein_server::wire::run::Run;
use serde_json::json;

use crate::driving::{Driving, TakeUp};
use crate::error::{CliError, note};
use crate::output::{Output, one_line};
use crate::session::{Desk, DeskPlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run whose work is done again, under a new id
    run: String,
    #[command(flatten)]
    driving: Driving,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a run cannot be done again")?;
    let again = |id: &str| note(format_args!("run {id}: again what {} was", one_line(&args.run)));
    match args.store.desk_if_there()? {
        Desk::Here(session) => {
            let who = session.principal()?;
            let id = session.wait(session.engine.rerun(&who, &args.run))?;
            again(id.as_str());
            args.driving.drive(&session, TakeUp::Begin(id.as_str()))
        }
        Desk::There(remote) => {
            let run: Run = remote.post(&["runs", &args.run, "rerun"], &json!({}))?;
            again(&run.run_id);
            args.driving.follow(&remote, &run.run_id, 0)
        }
    }
}
