use checkrein_core::checkpoint::Verdict;

use super::verdict::{Target, give};
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// A word with the approval
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    give(&args.target, Verdict::Approve, args.message.clone())
}
