use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::Tool;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// What each will be for
    goals: Vec<String>,
    /// The frame they belong to; the current one if absent
    parent: Option<String>,
}

pub fn tool() -> Tool {
    Tool::of_frames(
        "flame_plan_children",
        "Note several frames for later, in order.",
        Act::KeepFrames,
        &["goals"],
        |wanted: Wanted| FrameCommand::PlanChildren { goals: wanted.goals, parent: wanted.parent },
    )
}
