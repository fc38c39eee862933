use checkrein_core::frame::FrameAnswer;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Whether it was of use
    useful: bool,
}

pub fn route() -> Route {
    Route::post("/v1/suggestions/{id}/feedback", judge)
        .about("judgeSuggestion", "Say whether a suggestion was of use")
        .to(Act::KeepFrames)
        .refuses(&[Kind::NotFound])
}

async fn judge(call: Call, Json(wanted): Json<Wanted>) -> Result<Reply<FrameAnswer>, Problem> {
    let answer = call.engine().judge_suggestion(call.by()?, call.path("id"), wanted.useful).await?;
    Ok(Reply::new(answer))
}
