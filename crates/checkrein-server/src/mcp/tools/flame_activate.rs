use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::Tool;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// The frame
    frame: String,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_activate",
        "Go to work in a planned, blocked or left frame.",
        Act::KeepFrames,
        &["frame"],
        |wanted: Wanted| FrameCommand::Activate { frame: wanted.frame },
    )
}
