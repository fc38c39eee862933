//! `checkrein checkpoint`

mod create;
mod list;
pub mod shape;
mod show;
pub mod wait;
mod withdraw;

pub use list::checkpoints;
pub use wait::duration;

/// How many rows a list shows at most.
pub fn limit(text: &str) -> Result<usize, String> {
    let limit = text.parse().ok().filter(|limit| *limit > 0);
    limit.ok_or_else(|| "expected a whole number above 0".to_owned())
}

use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Ask for an approval; the worker's policy says whether one is needed
    ///
    /// Exit codes: 0 approved or not required, 3 pending, 5 rejected or changes requested.
    ///
    /// A worker that runs as the owner of the store is held by a guard rail, not by a guarantee: docs/threat-model.md says what that means.
    Create(create::Args),
    /// List checkpoints in the order they were made
    List(list::Args),
    /// Show a checkpoint and what it is about
    Show(show::Args),
    /// Wait for the verdict
    ///
    /// Exit codes: 0 approved or not required, 3 still pending, 5 rejected or changes requested.
    Wait(wait::Args),
    /// Take back a checkpoint you made; cancel a run to take back its hold
    Withdraw(withdraw::Args),
}

impl Command {
    pub fn run(self) -> Result<Output, CliError> {
        match self {
            Command::Create(args) => create::run(&args),
            Command::List(args) => list::run(&args),
            Command::Show(args) => show::run(&args),
            Command::Wait(args) => wait::run(&args),
            Command::Withdraw(args) => withdraw::run(&args),
        }
    }
}
