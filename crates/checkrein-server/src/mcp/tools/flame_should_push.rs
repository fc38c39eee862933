use checkrein_core::frame::{FrameCommand, PushRequest};
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::Tool;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// The goal the new frame would have
    potential_goal: Option<String>,
    /// Messages since the current frame began
    recent_messages: Option<u64>,
    /// Files changed lately
    recent_file_changes: Option<Vec<String>>,
    /// Errors seen lately
    error_count: Option<u64>,
    /// Tokens spent in the current frame
    token_count: Option<u64>,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_should_push",
        "Whether a child frame should be pushed, by the heuristics. What you leave out is taken from what was measured.",
        Act::KeepFrames,
        &[],
        |wanted: Wanted| {
            FrameCommand::ShouldPush(PushRequest {
                potential_goal: wanted.potential_goal,
                recent_messages: wanted.recent_messages,
                recent_file_changes: wanted.recent_file_changes,
                error_count: wanted.error_count,
                token_count: wanted.token_count,
                ..PushRequest::default()
            })
        },
    )
}
