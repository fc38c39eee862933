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
    /// What should change
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// A comment at a line of a file under review; may be given several times
    #[arg(long = "comment", value_name = "FILE:LINE=TEXT", value_parser = comment, allow_hyphen_values = true)]
    comments: Vec<NewComment>,
    /// Let the agent begin again on a new branch
    #[arg(long)]
    start_over: bool,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let comments = args.comments.clone();
    // Comments say what should change, too.
    let said = args.message.clone().or_else(|| (!comments.is_empty()).then(|| "see the comments".to_owned()));
    let request = VerdictRequest::new(Verdict::RequestChanges, said);
    give(&args.target, VerdictRequest { comments, start_over: args.start_over, ..request })
}
