use checkrein_core::frame::{AutoSuggest, FrameCommand};

use super::Place;
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also those that do not wait any more
    #[arg(long)]
    history: bool,
    /// Turn down everything that waits
    #[arg(long)]
    clear: bool,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let command = if args.clear {
        FrameCommand::AutoSuggest(AutoSuggest {
            clear_pending: true,
            show_history: args.history,
            ..AutoSuggest::default()
        })
    } else {
        FrameCommand::Suggestions { history: args.history }
    };
    args.place.ask(&command)
}
