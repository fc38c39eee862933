use checkrein_core::checkpoint::Verdict;
use checkrein_core::run::job::NewComment;
use checkrein_engine::VerdictRequest;

use super::verdict::{Target, comment, give};
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// A word with the approval
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// A comment for the agent with the approval of a review; may be given several times
    #[arg(long = "comment", value_name = "FILE:LINE=TEXT", value_parser = comment, allow_hyphen_values = true)]
    comments: Vec<NewComment>,
    /// Approve although changes are requested of single files, or parts are not shown
    #[arg(long)]
    confirm: bool,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let comments = args.comments.clone();
    let request = VerdictRequest::new(Verdict::Approve, args.message.clone());
    give(&args.target, VerdictRequest { comments, confirmed: args.confirm, ..request })
}
