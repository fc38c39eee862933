use checkrein_server::wire::run::Run;
use serde_json::json;

use crate::error::CliError;
use crate::output::Output;
use crate::session::{Desk, DeskPlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, or a beginning or end of its id that no other has
    run: String,
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
    outside_attempt("a run cannot be cancelled")?;
    let reason = args.message.clone();
    let run = match args.store.desk_if_there()? {
        Desk::Here(session) => {
            let who = session.principal()?;
            let view = session.wait(session.engine.cancel_run(&who, &args.run, reason))?;
            Run::of(&view, session.engine.now())
        }
        Desk::There(remote) => remote.post(&["runs", &args.run, "cancel"], &json!({"reason": reason}))?,
    };
    if args.json {
        return Output::json(&run);
    }
    Ok(Output::text(format!("cancelled {}\n", run.run_id)))
}
