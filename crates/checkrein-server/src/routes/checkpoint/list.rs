use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_engine::Act;
use checkrein_store::CheckpointFilter;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::checkpoint::Checkpoint;
use crate::wire::page::{Limit, Page};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Only those in this status
    status: Option<CheckpointStatus>,
    /// Only this worker's
    worker: Option<String>,
    /// Only of this phase
    phase: Option<String>,
    /// Only of this type
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Only those this run waits at, or waited
    run: Option<String>,
    /// How many at most
    #[serde(default)]
    limit: Limit,
    /// Go on after this cursor, as an answer names it in `next`
    #[serde(default)]
    after: i64,
}

impl Wanted {
    /// The filter, the cursor and how many.
    pub fn parts(self) -> (CheckpointFilter, i64, usize) {
        let Wanted { status, worker, phase, kind, run, limit, after } = self;
        (
            CheckpointFilter { status, worker, phase, kind, run, ..CheckpointFilter::default() },
            after,
            limit.get(),
        )
    }
}

pub fn route() -> Route {
    Route::get("/v1/checkpoints", list)
        .about("listCheckpoints", "Checkpoints in the order they were made")
        .to(Act::Read)
}

async fn list(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Page<Checkpoint>>, Problem> {
    let (filter, after, limit) = wanted.parts();
    let page = call.engine().checkpoints(call.by()?, &filter, after, limit).await?;
    Ok(Reply::new(Page::of(page, |stored| Checkpoint::from(&stored.checkpoint))))
}
