use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::PathBuf;

use crate::error::CliError;
use crate::files::shown;
use crate::output::{Output, count};
use crate::session::{StorePlace, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// An export, `-` for standard input
    file: PathBuf,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("nothing can be imported")?;
    let file = open(args)?;
    let session = args.store.open()?;
    let who = session.principal()?;
    let imported = session.wait(session.engine.import_store(&who, BufReader::new(file)))?;
    if args.json {
        return Output::json(&serde_json::json!({
            "checkpoints": imported.checkpoints, "events": imported.events, "contents": imported.contents,
            "runs": imported.runs, "frame_sessions": imported.frame_sessions, "chats": imported.chats,
            "known": imported.known,
        }));
    }
    let chats = match imported.chats {
        0 => String::new(),
        chats => format!(", {}", count(chats, "conversation")),
    };
    Ok(Output::text(format!(
        "imported {}, {}, {}{chats}; {} were here\n",
        count(imported.checkpoints, "checkpoint"),
        count(imported.events, "event"),
        count(imported.contents, "content"),
        imported.known,
    )))
}

/// Standard input is kept in a file first: the store must not be locked by a slow pipe.
fn open(args: &Args) -> Result<File, CliError> {
    let fail =
        |error: std::io::Error| CliError::usage(format!("`{}` cannot be read: {error}", shown(&args.file)));
    if args.file.as_os_str() != "-" {
        return File::open(&args.file).map_err(fail);
    }
    let mut kept = tempfile::tempfile().map_err(fail)?;
    std::io::copy(&mut std::io::stdin().lock(), &mut kept).map_err(fail)?;
    kept.rewind().map_err(fail)?;
    Ok(kept)
}
