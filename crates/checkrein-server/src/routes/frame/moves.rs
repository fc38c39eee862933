use checkrein_core::frame::{FrameAnswer, FrameCommand};
use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

pub fn route() -> Route {
    Route::post("/v1/frames/{id}/moves", make)
        .about(
            "moveFrames",
            "Push, pop, plan, or ask something of a session; a push or a change of settings begins a session that is not there",
        )
        .to(Act::Read)
        .more(&[("with a move that changes something", Act::KeepFrames)])
        .refuses(&[Kind::NotFound, Kind::FrameRefused])
}

async fn make(call: Call, Json(command): Json<FrameCommand>) -> Result<Reply<FrameAnswer>, Problem> {
    Ok(Reply::new(call.engine().frames(call.by()?, &super::wanted(&call), &command).await?))
}
