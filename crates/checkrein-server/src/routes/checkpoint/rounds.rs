use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::round::Round;

/// All rounds of a review until this one.
#[derive(Debug, Serialize, JsonSchema)]
struct Rounds {
    /// First to last
    items: Vec<Round>,
}

pub fn route() -> Route {
    Route::get("/v1/checkpoints/{id}/rounds", list)
        .about("listRounds", "The rounds of a review, with the commit each was of and what came of it")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::Invalid])
}

async fn list(call: Call, _: Nothing) -> Result<Reply<Rounds>, Problem> {
    let by = call.by()?;
    let reviewed = call.engine().review(by, call.path("id")).await?;
    let rounds = call.engine().review_rounds(by, &reviewed).await?;
    let items = rounds.iter().map(Round::from).collect();
    Ok(Reply::new(Rounds { items }).about(&reviewed.view.run.id))
}
