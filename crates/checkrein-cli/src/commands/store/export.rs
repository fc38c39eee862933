use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use checkrein_engine::EngineError;
use checkrein_store::{StoreError, TransferError};

use crate::error::{CliError, note};
use crate::files::shown;
use crate::output::Output;
use crate::session::StorePlace;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file that is not there yet, `-` for standard output
    #[arg(default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let session = args.store.open_existing_to_read()?;
    let who = session.principal()?;
    let write = |out: &mut dyn Write| session.wait(session.engine.export_store(&who, out));
    if args.file.as_os_str() == "-" {
        return match write(&mut BufWriter::new(std::io::stdout().lock())) {
            Ok(()) | Err(EngineError::Transfer(TransferError::ReaderGone)) => Ok(Output::text("")),
            Err(error) => Err(error.into()),
        };
    }
    let fail = |error: std::io::Error| StoreError::unwritable(&args.file, &error);
    if args.file.exists() {
        return Err(StoreError::Exists { path: args.file.clone() }.into());
    }
    let directory = args.file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    // There whole or not at all, and only its owner may read it.
    let part = tempfile::Builder::new().prefix(".checkrein-").tempfile_in(directory).map_err(fail)?;
    let mut out = BufWriter::new(part);
    write(&mut out)?;
    let part = out.into_inner().map_err(|error| fail(error.into_error()))?;
    part.as_file().sync_all().map_err(fail)?;
    part.persist_noclobber(&args.file).map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => StoreError::Exists { path: args.file.clone() },
        _ => fail(error.error),
    })?;
    std::fs::File::open(directory).and_then(|directory| directory.sync_all()).map_err(fail)?;
    note(format_args!("exported to {}", shown(&args.file)));
    Ok(Output::text(""))
}
