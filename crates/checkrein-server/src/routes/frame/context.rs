use checkrein_core::frame::{FrameAnswer, FrameCommand};
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The frame; the one that is worked in if nothing is said
    frame: Option<String>,
    /// At most so many tokens
    tokens: Option<u32>,
}

pub fn route() -> Route {
    Route::get("/v1/frames/{id}/context", context)
        .about("showFrameContext", "What an agent is shown of a frame and its relatives, within a budget")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::FrameRefused, Kind::Invalid])
}

async fn context(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<FrameAnswer>, Problem> {
    let tokens = wanted.tokens.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
    let command = FrameCommand::Context { frame: wanted.frame, tokens };
    Ok(Reply::new(call.engine().frames(call.by()?, &super::wanted(&call), &command).await?))
}
