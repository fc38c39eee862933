use checkrein_server::wire::run::Run;

use crate::error::CliError;
use crate::output::Output;
use crate::session::{StorePlace, outside_attempt};

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
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a run cannot be cancelled")?;
    let session = args.store.open()?;
    let who = session.principal()?;
    let view = session.wait(session.engine.cancel_run(&who, &args.run, args.message.clone()))?;
    if args.json {
        return Output::json(&Run::of(&view, session.engine.now()));
    }
    Ok(Output::text(format!("cancelled {}\n", view.run.id)))
}
