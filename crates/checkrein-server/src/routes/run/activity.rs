use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::activity::Activities;
use crate::wire::page::Limit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// `next` of an earlier answer; from the beginning without it
    after: Option<String>,
    /// How many at most; 500 if absent
    limit: Option<Limit>,
}

pub fn route() -> Route {
    Route::get("/v1/runs/{id}/activity", list)
        .about(
            "listRunActivity",
            "What the agents of a run did and do: messages, calls of tools, tokens and cost so far; ask again with `next` to follow",
        )
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns])
}

async fn list(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Activities>, Problem> {
    let limit = wanted.limit.map_or(500, Limit::get);
    let page =
        call.engine().run_activity(call.by()?, call.path("id"), wanted.after.as_deref(), limit).await?;
    Ok(Reply::new(page.into()))
}
