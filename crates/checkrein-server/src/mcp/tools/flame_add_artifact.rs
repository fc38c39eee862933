use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::Tool;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// What was produced
    artifact: String,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_add_artifact",
        "Note what the current frame produced, such as a file.",
        Act::KeepFrames,
        &["artifact"],
        |wanted: Wanted| FrameCommand::AddArtifact { artifact: wanted.artifact },
    )
}
