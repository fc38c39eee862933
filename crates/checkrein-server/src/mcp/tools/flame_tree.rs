use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;

use super::super::tool::Tool;
use super::Nothing;

pub fn tool() -> Tool {
    Tool::of_frames("flame_tree", "All frames of the session as a tree.", Act::Read, &[], |_: Nothing| {
        FrameCommand::Tree {}
    })
}
