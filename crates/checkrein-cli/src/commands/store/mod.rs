//! `checkrein store`

mod backup;
mod check;
mod copy;
mod export;
mod import;
mod restore;
mod stats;
mod sweep;
mod vacuum;

use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show where the store is and what it holds
    Stats(stats::Args),
    /// Look whether everything in the store agrees with everything else
    ///
    /// The file, every checkpoint with its events, every deliverable with its digest. Exit code 1 if something is wrong.
    Check(check::Args),
    /// Copy the store to a new file while it is in use
    Backup(backup::Args),
    /// Put a backup in the place of the store
    ///
    /// The backup is checked first. What was there is kept beside the store. Refused while another process has the store open.
    Restore(restore::Args),
    /// Write everything but the tokens as lines of JSON
    Export(export::Args),
    /// Add what an export holds: all of it, or nothing
    ///
    /// Importing the same export again changes nothing. A checkpoint that is here with another history is a conflict, exit code 6.
    Import(import::Args),
    /// Move everything one store holds to another, empty one
    ///
    /// From a file to PostgreSQL or back, with tokens, webhooks, open checkpoints and the files of runs. The store it comes from stays as it was; do not use it any more. Refused while one of its runs is under way.
    Copy(copy::Args),
    /// Give back the room that removed checkpoints took
    Vacuum(vacuum::Args),
    /// Remove what was decided long ago
    ///
    /// `retention: {checkpoints: 30d}` in checkrein.yaml says how long ago. What still waits for a person is never removed.
    Sweep(sweep::Args),
}

impl Command {
    pub fn run(self) -> Result<Output, CliError> {
        match self {
            Command::Stats(args) => stats::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Backup(args) => backup::run(&args),
            Command::Restore(args) => restore::run(&args),
            Command::Export(args) => export::run(&args),
            Command::Import(args) => import::run(&args),
            Command::Copy(args) => copy::run(&args),
            Command::Vacuum(args) => vacuum::run(&args),
            Command::Sweep(args) => sweep::run(&args),
        }
    }
}

/// A size as a person reads it.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
