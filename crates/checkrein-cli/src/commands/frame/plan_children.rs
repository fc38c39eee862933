use checkrein_core::frame::FrameCommand;

use super::Place;
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What each frame will be for, in order
    #[arg(required = true)]
    goals: Vec<String>,
    /// The frame they belong to [default: the current one]
    #[arg(long, value_name = "FRAME")]
    parent: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    args.place.ask(&FrameCommand::PlanChildren { goals: args.goals.clone(), parent: args.parent.clone() })
}
