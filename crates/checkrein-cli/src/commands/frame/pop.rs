use checkrein_core::frame::{FrameCommand, PopStatus};

use super::Place;
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// How it ended: completed, failed or blocked
    #[arg(long, value_parser = super::pop_status, value_name = "STATUS", default_value = "completed")]
    status: PopStatus,
    /// What is worth knowing of it from now on
    #[arg(short = 'm', long, value_name = "TEXT")]
    summary: Option<String>,
    /// Something it produced, such as a file; may be repeated
    #[arg(long = "artifact", value_name = "TEXT")]
    artifacts: Vec<String>,
    /// Something that was decided in it; may be repeated
    #[arg(long = "decision", value_name = "TEXT")]
    decisions: Vec<String>,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    args.place.ask(&FrameCommand::Pop {
        status: Some(args.status),
        summary: args.summary.clone(),
        artifacts: args.artifacts.clone(),
        decisions: args.decisions.clone(),
    })
}
