//! `checkrein policy`

mod asked;
mod check;
mod classify;
mod decide;
mod explain;
mod migrate;
mod show;
mod test;

use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Print the policy in force
    Show(show::Args),
    /// Print every value of the policy and where it was set
    Explain(explain::Args),
    /// Check settings and workflow files; refuses what a run would only warn about
    Check(check::Args),
    /// Decide a situation given as JSON; reads nothing but the request
    ///
    /// Only `scope` and `boundary.kind` are required; `checkrein config schema decide` describes the rest.
    Decide(decide::Args),
    /// Say which severity and category a text has, and by which word
    Classify(classify::Args),
    /// Run the examples that policies carry
    Test(test::Args),
    /// Rewrite legacy levels in a file, leaving the rest of it as it is
    Migrate(migrate::Args),
}

impl Command {
    pub fn run(self) -> Result<Output, CliError> {
        match self {
            Command::Show(args) => show::run(&args),
            Command::Explain(args) => explain::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Decide(args) => decide::run(&args),
            Command::Classify(args) => classify::run(&args),
            Command::Test(args) => test::run(&args),
            Command::Migrate(args) => migrate::run(&args),
        }
    }
}
