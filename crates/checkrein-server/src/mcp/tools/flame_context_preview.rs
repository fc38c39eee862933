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
    /// At most so many tokens
    tokens: Option<usize>,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_context_preview",
        "What you would be shown of a frame and its relatives, within a budget.",
        Act::Read,
        &[],
        |wanted: Wanted| FrameCommand::Context { frame: wanted.frame, tokens: wanted.tokens },
    )
}
