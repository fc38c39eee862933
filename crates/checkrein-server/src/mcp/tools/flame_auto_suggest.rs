use checkrein_core::frame::{AutoSuggest, FrameCommand};
use checkrein_engine::Act;

use super::super::tool::Tool;

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_auto_suggest",
        "Turn suggestions in the context on or off, show what was suggested before, clear what waits.",
        Act::KeepFrames,
        &[],
        |wanted: AutoSuggest| FrameCommand::AutoSuggest(wanted),
    )
}
