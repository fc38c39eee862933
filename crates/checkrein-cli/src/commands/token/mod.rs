//! `checkrein token`

mod create;
mod list;
mod revoke;

use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make a token; its secret is shown once
    Create(create::Args),
    /// List tokens, without their secrets
    List(list::Args),
    /// Make a token worthless
    Revoke(revoke::Args),
}

impl Command {
    pub fn run(self) -> Result<Output, CliError> {
        match self {
            Command::Create(args) => create::run(&args),
            Command::List(args) => list::run(&args),
            Command::Revoke(args) => revoke::run(&args),
        }
    }
}
