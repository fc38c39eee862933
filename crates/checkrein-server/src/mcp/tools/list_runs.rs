use checkrein_engine::Act;

use super::super::asking::Asking;
use super::super::tool::{Told, Tool};
use crate::ask::MaybeJson;
use crate::error::Problem;
use crate::routes::RunsWanted;
use crate::wire::page::Page;
use crate::wire::run::RunItem;

pub fn tool() -> Tool {
    Tool::new("list_runs", "Runs and jobs, the newest first.", Act::Read, list)
}

async fn list(asking: Asking, MaybeJson(wanted): MaybeJson<RunsWanted>) -> Result<Told, Problem> {
    let (filter, before, limit) = wanted.parts();
    let page = asking.engine()?.runs(asking.by(), &filter, before, limit).await?;
    Told::json(&Page::of(page, |stored| RunItem::from(&stored)))
}
