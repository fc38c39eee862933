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
    // Whoever rejects at a terminal can say why; programs need not (R12).
    if args.message.trim().is_empty() {
        return Err(CliError::usage("`message` is empty"));
    }
    give(&args.target, VerdictRequest::new(Verdict::Reject, Some(args.message.clone())))
}
