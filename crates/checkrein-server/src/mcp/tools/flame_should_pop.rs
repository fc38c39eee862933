use checkrein_core::frame::{FrameCommand, PopRequest};
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::Tool;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// What went well, such as "tests passing"
    success_signals: Option<Vec<String>>,
    /// What went wrong
    failure_signals: Option<Vec<String>>,
    /// Turns without progress
    no_progress_turns: Option<u64>,
    /// Tokens in the context now
    token_count: Option<u64>,
    /// Tokens the context can hold
    context_limit: Option<u64>,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_should_pop",
        "Whether the current frame should be popped, and with which status, by the heuristics. What you leave out is taken from what was measured.",
        Act::KeepFrames,
        &[],
        |wanted: Wanted| {
            FrameCommand::ShouldPop(PopRequest {
                success_signals: wanted.success_signals,
                failure_signals: wanted.failure_signals,
                no_progress_turns: wanted.no_progress_turns,
                token_count: wanted.token_count,
                context_limit: wanted.context_limit,
                ..PopRequest::default()
            })
        },
    )
}
