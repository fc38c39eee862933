use checkrein_core::frame::FrameCommand;

use super::Place;
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is worth knowing of the frame
    summary: String,
    /// The frame [default: the current one]
    #[arg(long)]
    frame: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    args.place.ask(&FrameCommand::Summarize { frame: args.frame.clone(), summary: args.summary.clone() })
}
