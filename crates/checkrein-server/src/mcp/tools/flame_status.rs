use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;

use super::super::tool::Tool;
use super::Nothing;

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_status",
        "Where the session stands: the current frame, the path to it, what was measured, what is suggested.",
        Act::Read,
        &[],
        |_: Nothing| FrameCommand::Status {},
    )
}
