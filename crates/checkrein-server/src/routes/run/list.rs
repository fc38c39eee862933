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

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
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

impl Wanted {
    /// The filter, the cursor and how many.
    pub fn parts(self) -> (RunFilter, Option<i64>, usize) {
        let Wanted { status, workflow, limit, before } = self;
        (
            RunFilter { status: status.map(RunStatus::from), workflow, ..RunFilter::default() },
            before,
            limit.get(),
        )
    }
}

pub fn route() -> Route {
    Route::get("/v1/runs", list).about("listRuns", "All runs, the newest first").to(Act::Read)
}

async fn list(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Page<RunItem>>, Problem> {
    let (filter, before, limit) = wanted.parts();
    let page = call.engine().runs(call.by()?, &filter, before, limit).await?;
    Ok(Reply::new(Page::of(page, |stored| RunItem::from(&stored))))
}
