mod list;
mod show;

use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// All experts there are, and how far their agents may go
    List(list::Args),
    /// An expert with everything it extends
    Show(show::Args),
}

impl Command {
    pub fn run(&self) -> Result<Output, CliError> {
        match self {
            Command::List(args) => list::run(args),
            Command::Show(args) => show::run(args),
        }
    }
}
