use checkrein_engine::Act;

use super::super::asking::Asking;
use super::super::tool::{Told, Tool};
use crate::ask::MaybeJson;
use crate::error::Problem;
use crate::routes::CheckpointsWanted;
use crate::wire::checkpoint::Checkpoint;
use crate::wire::page::Page;

pub fn tool() -> Tool {
    Tool::new("list_checkpoints", "Checkpoints in the order they were made.", Act::Read, list)
}

async fn list(asking: Asking, MaybeJson(wanted): MaybeJson<CheckpointsWanted>) -> Result<Told, Problem> {
    let (filter, after, limit) = wanted.parts();
    let page = asking.engine()?.checkpoints(asking.by(), &filter, after, limit).await?;
    Told::json(&Page::of(page, |stored| Checkpoint::from(&stored.checkpoint)))
}
