use checkrein_core::frame::{FrameCommand, PopStatus};
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::Tool;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// How it ended: completed (if absent), failed or blocked
    status: Option<PopStatus>,
    /// What is worth knowing of it from now on
    summary: Option<String>,
    /// What it produced, such as file names
    artifacts: Vec<String>,
    /// What was decided in it
    decisions: Vec<String>,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_pop",
        "Fold the current frame into a summary and return to its parent.",
        Act::KeepFrames,
        &[],
        |wanted: Wanted| FrameCommand::Pop {
            status: wanted.status,
            summary: wanted.summary,
            artifacts: wanted.artifacts,
            decisions: wanted.decisions,
        },
    )
}
