use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::diff::Diff;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The round it starts from, 0 for what was there before; the one before `to` if there is none
    from: Option<u32>,
    /// The round it leads to; the last one if there is none
    to: Option<u32>,
}

pub fn route() -> Route {
    Route::get("/v1/checkpoints/{id}/changes", show)
        .about("showChanges", "What changed between two rounds of a review")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::Invalid])
}

async fn show(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Diff>, Problem> {
    let by = call.by()?;
    let reviewed = call.engine().review(by, call.path("id")).await?;
    let to = wanted.to.unwrap_or(reviewed.checkpoint.checkpoint.round);
    let from = wanted.from.unwrap_or(to.saturating_sub(1));
    let diff = call.engine().review_changes(by, &reviewed, from, to).await?;
    Ok(Reply::new(Diff::of(&diff, &reviewed.marks)).about(&reviewed.view.run.id))
}
