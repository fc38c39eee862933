use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::checkpoint::WholeCheckpoint;

pub fn route() -> Route {
    Route::get("/v1/checkpoints/{id}", show)
        .about("showCheckpoint", "A checkpoint and what it is about")
        .to(Act::Read)
        .refuses(&[Kind::NotFound])
}

async fn show(call: Call, _: Nothing) -> Result<Reply<WholeCheckpoint>, Problem> {
    let view = call.engine().checkpoint(call.by()?, call.path("id")).await?;
    Ok(super::reply(&call, view))
}
