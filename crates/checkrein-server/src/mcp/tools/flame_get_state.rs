use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;

use super::super::tool::Tool;
use super::Nothing;

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_get_state",
        "Everything about the session: all frames, the settings, what is suggested.",
        Act::Read,
        &[],
        |_: Nothing| FrameCommand::State {},
    )
}
