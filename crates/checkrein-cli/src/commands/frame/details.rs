use checkrein_core::frame::FrameCommand;

use super::FrameArgs;
use crate::error::CliError;
use crate::output::Output;

pub fn run(args: &FrameArgs) -> Result<Output, CliError> {
    args.place.ask(&FrameCommand::Details { frame: args.frame.clone() })
}
