use checkrein_core::config::Keep;
use checkrein_engine::Sweep;

use super::{count, size};
use crate::error::{CliError, note};
use crate::output::Output;
use crate::session::{StorePlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("nothing can be swept")?;
    let session = args.store.open()?;
    let who = session.principal()?;
    let how = if args.dry_run { Sweep::Rehearse } else { Sweep::Remove };
    let swept = session.wait(session.engine.sweep_store(&who, how))?;
    if args.json {
        return Output::json(&serde_json::json!({
            "dry_run": args.dry_run, "checkpoints": swept.checkpoints, "events": swept.events,
            "contents": swept.contents, "content_bytes": swept.content_bytes,
        }));
    }
    if session.engine.keep_checkpoints() == Keep::Forever {
        note("`retention` keeps checkpoints for ever");
    }
    Ok(Output::text(format!(
        "{} {}, {}, {} ({})\n",
        if args.dry_run { "would remove" } else { "removed" },
        count(swept.checkpoints.cast_unsigned(), "checkpoint"),
        count(swept.events.cast_unsigned(), "event"),
        count(swept.contents.cast_unsigned(), "content"),
        size(swept.content_bytes.cast_unsigned()),
    )))
}
