use checkrein_core::frame::{FrameAnswer, FrameCommand};
use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

pub fn route() -> Route {
    Route::get("/v1/frames/{id}", show)
        .about(
            "showFrames",
            "A session of frames: its tree, its settings and what is suggested; `-` is the session that was changed last",
        )
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::Invalid])
}

async fn show(call: Call, _: Nothing) -> Result<Reply<FrameAnswer>, Problem> {
    let answer = call.engine().frames(call.by()?, &super::wanted(&call), &FrameCommand::State {}).await?;
    Ok(Reply::new(answer))
}
