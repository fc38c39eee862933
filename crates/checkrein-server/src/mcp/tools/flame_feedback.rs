use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::Tool;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// The suggestion
    id: String,
    /// Whether it was of use
    useful: bool,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_feedback",
        "Say whether a suggestion was of use; the advice learns from it.",
        Act::KeepFrames,
        &["id", "useful"],
        |wanted: Wanted| FrameCommand::Feedback { id: wanted.id, useful: wanted.useful },
    )
}
