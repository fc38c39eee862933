use super::size;
use crate::error::CliError;
use crate::output::Output;
use crate::session::{StorePlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("the store cannot be vacuumed")?;
    let session = args.store.open_existing()?;
    let who = session.principal()?;
    let vacuumed = session.wait(session.engine.vacuum_store(&who))?;
    if args.json {
        return Output::json(&serde_json::json!({
            "bytes_before": vacuumed.bytes_before, "bytes_after": vacuumed.bytes_after,
        }));
    }
    Ok(Output::text(format!("{} before, {} now\n", size(vacuumed.bytes_before), size(vacuumed.bytes_after))))
}
