use checkrein_core::frame::FrameCommand;

use super::Place;
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The frame [default: the one that was blocked or left last]
    frame: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    args.place.ask(&FrameCommand::Resume { frame: args.frame.clone() })
}
