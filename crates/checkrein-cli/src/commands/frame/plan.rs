use checkrein_core::frame::FrameCommand;

use super::Place;
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the frame will be for
    goal: String,
    /// The frame it belongs to [default: the current one]
    #[arg(long, value_name = "FRAME")]
    parent: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    args.place.ask(&FrameCommand::Plan { goal: args.goal.clone(), parent: args.parent.clone() })
}
