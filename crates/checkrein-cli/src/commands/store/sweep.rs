use checkrein_core::config::{Keep, Kept};
use checkrein_engine::{Sweep, SweptRuns};

use super::size;
use crate::error::{CliError, note};
use crate::output::{Output, count};
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
    let session = if args.dry_run { args.store.open_to_read()? } else { args.store.open_if_there()? };
    let who = session.principal()?;
    // Where there is no store there is nothing to remove, and none is made for it (R14).
    let how = if args.dry_run || !session.engine.has_store() { Sweep::Rehearse } else { Sweep::Remove };
    let swept = session.wait(session.engine.sweep_store(&who, how))?;
    let (checkpoints, runs) = (swept.checkpoints, swept.runs);
    if args.json {
        return Output::json(&serde_json::json!({
            "dry_run": args.dry_run, "checkpoints": checkpoints.checkpoints, "events": checkpoints.events,
            "contents": checkpoints.contents, "content_bytes": checkpoints.content_bytes,
            "frame_sessions": swept.frames.sessions, "runs": runs.removed, "trimmed_runs": runs.trimmed, "output_bytes": runs.output_bytes,
        }));
    }
    if session.engine.keep(Kept::Checkpoints) == Keep::Forever {
        note("`retention` keeps checkpoints for ever");
    }
    let mut text = format!(
        "{} {}, {}, {} ({})\n",
        if args.dry_run { "would remove" } else { "removed" },
        count(checkpoints.checkpoints.cast_unsigned(), "checkpoint"),
        count(checkpoints.events.cast_unsigned(), "event"),
        count(checkpoints.contents.cast_unsigned(), "content"),
        size(checkpoints.content_bytes.cast_unsigned()),
    );
    if runs != SweptRuns::default() {
        text.push_str(&format!(
            "{} {}, the responses of {}, {} of output over the quota\n",
            if args.dry_run { "would remove" } else { "removed" },
            count(runs.removed, "run"),
            count(runs.trimmed, "run"),
            size(runs.output_bytes),
        ));
    }
    if swept.frames.sessions > 0 {
        let word = if args.dry_run { "would remove" } else { "removed" };
        text.push_str(&format!("{word} {}\n", count(swept.frames.sessions, "frame session")));
    }
    Ok(Output::text(text))
}
