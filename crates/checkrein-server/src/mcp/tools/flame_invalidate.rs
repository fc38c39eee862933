use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::Tool;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// The frame; the current one if absent
    frame: Option<String>,
    /// Why it is withdrawn
    reason: String,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_invalidate",
        "Withdraw a frame and what is planned below it, and say why.",
        Act::KeepFrames,
        &["reason"],
        |wanted: Wanted| FrameCommand::Invalidate { frame: wanted.frame, reason: wanted.reason },
    )
}
