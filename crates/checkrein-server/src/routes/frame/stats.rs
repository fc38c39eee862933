use checkrein_core::frame::{FrameAnswer, FrameCommand};
use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

pub fn route() -> Route {
    Route::get("/v1/frames/{id}/stats", stats)
        .about(
            "showFrameStats",
            "What became of the suggestions of a session, and how often each heuristic was right",
        )
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::Invalid])
}

async fn stats(call: Call, _: Nothing) -> Result<Reply<FrameAnswer>, Problem> {
    let answer = call.engine().frames(call.by()?, &super::wanted(&call), &FrameCommand::Stats {}).await?;
    Ok(Reply::new(answer))
}
