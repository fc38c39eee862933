use checkrein_core::frame::FrameCommand;

use super::Args;
use crate::error::CliError;
use crate::output::Output;

pub fn run(args: &Args) -> Result<Output, CliError> {
    args.place.ask(&FrameCommand::Status {})
}
