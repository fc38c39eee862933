use checkrein_server::wire::job::Job;
use serde_json::json;

use crate::error::{CliError, note};
use crate::output::Output;
use crate::session::{Desk, DeskPlace, outside_attempt};

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
    store: DeskPlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("a level cannot be changed")?;
    let (id, policy, waits) = match args.store.desk_if_there()? {
        Desk::Here(session) => {
            let who = session.principal()?;
            let view = session.wait(session.engine.change_level(&who, &args.run, &args.autonomy, None))?;
            (view.run.id.to_string(), view.run.policy().clone(), view.checkpoint.is_some())
        }
        Desk::There(remote) => {
            let job: Job = remote.post(&["jobs", &args.run, "level"], &json!({"autonomy": args.autonomy}))?;
            (job.run_id, job.policy, job.checkpoint.is_some())
        }
    };
    let level = policy.level.clone();
    if waits {
        note("what waits for review still waits; the level acts from the next boundary on");
    }
    if args.json {
        return Output::json(&json!({"run_id": id, "level": level, "policy": policy}));
    }
    Ok(Output::text(format!("{id} {}\n", level.as_deref().unwrap_or("custom"))))
}
