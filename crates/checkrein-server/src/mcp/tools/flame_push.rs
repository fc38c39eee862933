use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::Tool;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// What the frame is for
    goal: String,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_push",
        "Begin a frame for a part of the work, below the current one.",
        Act::KeepFrames,
        &["goal"],
        |wanted: Wanted| FrameCommand::Push { goal: wanted.goal },
    )
}
