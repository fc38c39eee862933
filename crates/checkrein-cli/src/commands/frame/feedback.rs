use checkrein_core::frame::FrameCommand;

use super::Place;
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The suggestion
    id: String,
    /// Whether it was of use
    #[arg(value_parser = ["useful", "not-useful"])]
    verdict: String,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    args.place.ask(&FrameCommand::Feedback { id: args.id.clone(), useful: args.verdict == "useful" })
}
