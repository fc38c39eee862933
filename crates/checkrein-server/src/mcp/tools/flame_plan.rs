use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::Tool;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// What the frame will be for
    goal: String,
    /// The frame it belongs to; the current one if absent
    parent: Option<String>,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_plan",
        "Note a frame for later, below the current one or another.",
        Act::KeepFrames,
        &["goal"],
        |wanted: Wanted| FrameCommand::Plan { goal: wanted.goal, parent: wanted.parent },
    )
}
