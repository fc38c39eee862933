use checkrein_store::StoreAddress;
use serde_json::{Map, json};

use super::size;
use crate::error::CliError;
use crate::output::{Output, Table};
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open_to_read()?;
    let who = session.principal()?;
    let stats = session.wait(session.engine.store_stats(&who))?;
    let path = session.engine.store().address().to_string();
    if args.json {
        let by_status =
            stats.by_status.iter().map(|(status, count)| (status.name().to_owned(), json!(count)));
        return Output::json(&json!({
            "path": path, "schema": stats.schema, "bytes": stats.bytes, "wal_bytes": stats.wal_bytes,
            "checkpoints": stats.checkpoints, "by_status": by_status.collect::<Map<_, _>>(),
            "oldest_pending": stats.oldest_pending, "events": stats.events, "event_bytes": stats.event_bytes,
            "newest_event": stats.newest_event, "contents": stats.contents,
            "content_bytes": stats.content_bytes, "tokens": stats.tokens,
            "runs": stats.runs, "unfinished_runs": stats.unfinished_runs,
            "frame_sessions": stats.frame_sessions, "frames": stats.frames,
        }));
    }
    let held = |count: i64, bytes: i64| format!("{count} ({})", size(bytes.max(0).cast_unsigned()));
    let mut table = Table::new(&["what", "value"]);
    let mut row = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
    row("store", path);
    row("schema", stats.schema.to_string());
    row(
        "size",
        match session.engine.store().address() {
            StoreAddress::Postgres(_) => size(stats.bytes),
            StoreAddress::Sqlite(_) => {
                format!("{}, and {} in its log", size(stats.bytes), size(stats.wal_bytes))
            }
        },
    );
    row("checkpoints", stats.checkpoints.to_string());
    for (status, count) in &stats.by_status {
        row(&format!("  {status}"), count.to_string());
    }
    if let Some(oldest) = stats.oldest_pending {
        row("oldest pending", oldest.to_string());
    }
    row("runs", format!("{}, {} unfinished", stats.runs, stats.unfinished_runs));
    row("frames", format!("{} in {} sessions", stats.frames, stats.frame_sessions));
    row("events", held(stats.events, stats.event_bytes));
    row("contents", held(stats.contents, stats.content_bytes));
    row("tokens", stats.tokens.to_string());
    Ok(Output::text(table.render()))
}
