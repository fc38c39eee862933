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
    /// What is worth knowing
    summary: String,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_summarize",
        "Say what is worth knowing of a frame, without ending it.",
        Act::KeepFrames,
        &["summary"],
        |wanted: Wanted| FrameCommand::Summarize { frame: wanted.frame, summary: wanted.summary },
    )
}
