use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_engine::Act;
use checkrein_store::CheckpointFilter;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::asking::Asking;
use super::super::tool::{Told, Tool};
use super::request_checkpoint::Asked;
use crate::ask::MaybeJson;
use crate::error::Problem;
use crate::wire::page::{Limit, Page};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// How many at most
    #[serde(default)]
    limit: Limit,
    /// Go on after this cursor, as an answer names it in `next`
    #[serde(default)]
    after: i64,
}

pub fn tool() -> Tool {
    Tool::new(
        "inbox",
        "Everything that waits for a person, oldest first, and where to look at it.",
        Act::Read,
        inbox,
    )
}

async fn inbox(asking: Asking, MaybeJson(wanted): MaybeJson<Wanted>) -> Result<Told, Problem> {
    let filter = CheckpointFilter { status: Some(CheckpointStatus::Pending), ..CheckpointFilter::default() };
    let page = asking.engine()?.checkpoints(asking.by(), &filter, wanted.after, wanted.limit.get()).await?;
    Told::json(&Page::of(page, |stored| Asked::of(&stored.checkpoint, &asking.caller.look)))
}
