use checkrein_core::frame::{ConfigChange, FrameCommand};

use super::Place;
use crate::error::CliError;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// How far advice goes on its own: manual, suggest or auto
    #[arg(long)]
    level: Option<String>,
    /// Confidence from which a push is recommended, 0 to 100
    #[arg(long, value_name = "N")]
    push_threshold: Option<f64>,
    /// Confidence from which a pop is recommended, 0 to 100
    #[arg(long, value_name = "N")]
    pop_threshold: Option<f64>,
    /// Whether suggestions are appended to the context
    #[arg(long, value_name = "BOOL")]
    suggest_in_context: Option<bool>,
    /// The heuristics to use, and no others, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    heuristics: Option<Vec<String>>,
    /// A heuristic to use as well
    #[arg(long, value_name = "NAME")]
    enable: Option<String>,
    /// A heuristic not to use any more
    #[arg(long, value_name = "NAME")]
    disable: Option<String>,
    /// How scores become one confidence: average, weighted or max
    #[arg(long)]
    aggregation: Option<String>,
    /// How many tokens the context of a frame may take
    #[arg(long, value_name = "N")]
    context_tokens: Option<f64>,
    /// Forget every change of this session first
    #[arg(long)]
    reset: bool,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    args.place.ask(&FrameCommand::Config(ConfigChange {
        level: args.level.clone(),
        push_threshold: args.push_threshold,
        pop_threshold: args.pop_threshold,
        suggest_in_context: args.suggest_in_context,
        enabled_heuristics: args.heuristics.clone(),
        enable_heuristic: args.enable.clone(),
        disable_heuristic: args.disable.clone(),
        aggregation: args.aggregation.clone(),
        weights: None,
        context_tokens: args.context_tokens,
        reset: args.reset,
    }))
}
