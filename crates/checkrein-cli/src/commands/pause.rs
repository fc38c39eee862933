use checkrein_server::wire::run::Run;
use serde_json::json;

use crate::error::CliError;
use crate::output::Output;
use crate::session::{Desk, DeskPlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, or a beginning or end of its id that no other has
    run: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a run cannot be paused")?;
    let run = match args.store.desk_if_there()? {
        Desk::Here(session) => {
            let who = session.principal()?;
            let view = session.wait(session.engine.pause_run(&who, &args.run, None))?;
            Run::of(&view, session.engine.now())
        }
        Desk::There(remote) => remote.post(&["runs", &args.run, "pause"], &json!({}))?,
    };
    if args.json {
        return Output::json(&run);
    }
    Ok(Output::text(format!("paused {}; checkrein resume {} goes on\n", run.run_id, run.run_id)))
}
