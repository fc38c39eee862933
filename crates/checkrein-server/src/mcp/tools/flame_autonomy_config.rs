use checkrein_core::frame::{ConfigChange, FrameCommand};
use checkrein_engine::Act;

use super::super::tool::Tool;

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_autonomy_config",
        "Show or change how far frame advice goes on its own: level (manual, suggest, auto), thresholds, heuristics. `reset` restores the defaults.",
        Act::KeepFrames,
        &[],
        |change: ConfigChange| FrameCommand::Config(change),
    )
}
