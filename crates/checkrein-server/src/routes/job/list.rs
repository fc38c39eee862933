use checkrein_core::run::RunStatus;
use checkrein_engine::Act;
use checkrein_store::{RunFilter, RunKind};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::job::JobItem;
use crate::wire::page::{Limit, Page};
use crate::wire::run::StatusWord;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only those in this status
    status: Option<StatusWord>,
    /// Only of this expert; those of none are `job`
    expert: Option<String>,
    /// How many at most
    #[serde(default)]
    limit: Limit,
    /// Go on before this cursor, as an answer names it in `next`
    before: Option<i64>,
}

pub fn route() -> Route {
    Route::get("/v1/jobs", list).about("listJobs", "All jobs, the newest first").to(Act::Read)
}

async fn list(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Page<JobItem>>, Problem> {
    let Wanted { status, expert, limit, before } = wanted;
    let filter = RunFilter {
        kind: Some(RunKind::Job),
        status: status.map(RunStatus::from),
        workflow: expert,
        ..RunFilter::default()
    };
    let page = call.engine().runs(call.by()?, &filter, before, limit.get()).await?;
    Ok(Reply::new(Page::of(page, |stored| JobItem::from(&stored))))
}
