use serde_json::json;

use crate::error::{CliError, note};
use crate::output::Output;
use crate::session::{StorePlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job, or a beginning or end of its id that no other has
    run: String,
    /// full, review, partial, guided, dependent, or a JSON block
    #[arg(value_name = "LEVEL|JSON")]
    autonomy: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a level cannot be changed")?;
    let session = args.store.open()?;
    let who = session.principal()?;
    let view = session.wait(session.engine.change_level(&who, &args.run, &args.autonomy))?;
    let level = view.run.policy().level.clone();
    if view.checkpoint.is_some() {
        note("what waits for review still waits; the level acts from the next boundary on");
    }
    if args.json {
        return Output::json(&json!({"run_id": view.run.id, "level": level, "policy": view.run.policy()}));
    }
    Ok(Output::text(format!("{} {}\n", view.run.id, level.as_deref().unwrap_or("custom"))))
}
