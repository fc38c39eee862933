//! `checkrein config`

mod env;
mod schema;

use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Print the JSON schema of something people write by hand
    Schema(schema::Args),
    /// List the environment variables that are settings
    Env(env::Args),
}

impl Command {
    pub fn run(self) -> Result<Output, CliError> {
        match self {
            Command::Schema(args) => schema::run(&args),
            Command::Env(args) => env::run(&args),
        }
    }
}
