use std::path::PathBuf;

use super::size;
use crate::error::CliError;
use crate::files::shown;
use crate::output::Output;
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file that is not there yet
    file: PathBuf,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open_existing()?;
    let who = session.principal()?;
    let bytes = session.wait(session.engine.back_up_store(&who, &args.file))?;
    let name = shown(&args.file);
    if args.json {
        return Output::json(&serde_json::json!({"file": name, "bytes": bytes}));
    }
    Ok(Output::text(format!("backed up to {name} ({})\n", size(bytes))))
}
