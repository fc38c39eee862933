use std::path::PathBuf;

use crate::error::CliError;
use crate::files::shown;
use crate::output::{Output, count};
use crate::session::{StorePlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A backup
    file: PathBuf,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("the store cannot be restored")?;
    let restored = checkrein_engine::restore_store(&args.store.keeper()?, &args.file, &args.store.path()?)?;
    let kept = restored.kept.as_deref().map(shown);
    if args.json {
        return Output::json(&serde_json::json!({
            "store": shown(&restored.path), "kept": kept, "checkpoints": restored.checkpoints,
        }));
    }
    let mut text =
        format!("restored {} with {}\n", shown(&restored.path), count(restored.checkpoints, "checkpoint"));
    if let Some(kept) = kept {
        text.push_str(&format!("what was there is kept as {kept}\n"));
    }
    Ok(Output::text(text))
}
