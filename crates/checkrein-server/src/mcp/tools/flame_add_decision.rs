use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::Tool;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// What was decided
    decision: String,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_add_decision",
        "Note what was decided in the current frame.",
        Act::KeepFrames,
        &["decision"],
        |wanted: Wanted| FrameCommand::AddDecision { decision: wanted.decision },
    )
}
