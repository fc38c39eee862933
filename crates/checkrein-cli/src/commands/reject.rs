use checkrein_core::checkpoint::Verdict;
use checkrein_engine::VerdictRequest;

use super::verdict::{Target, give};
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Why
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    message: String,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    give(&args.target, VerdictRequest::new(Verdict::Reject, Some(args.message.clone())))
}
