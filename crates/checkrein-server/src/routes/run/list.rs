use checkrein_core::run::RunStatus;
use checkrein_engine::Act;
use checkrein_store::RunFilter;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::page::{Limit, Page};
use crate::wire::run::{RunItem, StatusWord};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only those in this status
    status: Option<StatusWord>,
    /// Only of this workflow
    workflow: Option<String>,
    /// How many at most
    #[serde(default)]
    limit: Limit,
    /// Go on before this cursor, as an answer names it in `next`
    before: Option<i64>,
}

pub fn route() -> Route {
    Route::get("/v1/runs", list).about("listRuns", "All runs, the newest first").to(Act::Read)
}

async fn list(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Page<RunItem>>, Problem> {
    let Wanted { status, workflow, limit, before } = wanted;
    let filter = RunFilter { status: status.map(RunStatus::from), workflow, ..RunFilter::default() };
    let page = call.engine().runs(call.by()?, &filter, before, limit.get()).await?;
    Ok(Reply::new(Page::of(page, |stored| RunItem::from(&stored))))
}
