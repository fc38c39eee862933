use checkrein_core::frame::FrameCommand;

use super::Place;
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Change the settings of this session; without it nothing is changed
    #[arg(long)]
    apply: bool,
    /// Only what was suggested to this type of agent
    #[arg(long, value_name = "TYPE")]
    agent: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    args.place.ask(&FrameCommand::Tune { apply: args.apply, agent: args.agent.clone() })
}
