use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;

use super::super::tool::Tool;
use super::Nothing;

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_autonomy_stats",
        "What became of the suggestions: total, push, pop, acted, ignored, automatic, and how often each heuristic was right.",
        Act::Read,
        &[],
        |_: Nothing| FrameCommand::Stats {},
    )
}
