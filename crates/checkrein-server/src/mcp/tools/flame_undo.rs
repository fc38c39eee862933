use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;

use super::super::tool::Tool;
use super::Nothing;

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_undo",
        "Take the latest move back, also one that was made automatically.",
        Act::KeepFrames,
        &[],
        |_: Nothing| FrameCommand::Undo {},
    )
}
