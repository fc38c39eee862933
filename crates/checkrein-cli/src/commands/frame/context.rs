use checkrein_core::frame::FrameCommand;

use super::Place;
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The frame [default: the current one]
    frame: Option<String>,
    /// At most so many tokens [default: `contextTokens` of the settings]
    #[arg(long, value_name = "N")]
    tokens: Option<usize>,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    args.place.ask(&FrameCommand::Context { frame: args.frame.clone(), tokens: args.tokens })
}
