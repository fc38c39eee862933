use checkrein_engine::{Act, ChatOf};

use super::Wanted;
use crate::ask::Query;
use crate::call::Call;
use crate::chat::{self, Shown};
use crate::error::{Kind, Problem};
use crate::route::Route;

pub fn route() -> Route {
    Route::get("/v1/chats/{id}", show)
        .about(
            "showChat",
            "A conversation that prepares a job; whoever began it and administrators see it. With `Accept: text/event-stream` each message as it is and whenever it changes",
        )
        .to(Act::ReadChat)
        .streams()
        .refuses(&[Kind::NotFound])
}

async fn show(call: Call, Query(wanted): Query<Wanted>) -> Result<Shown, Problem> {
    chat::shown(&call, ChatOf::Chat(call.path("id").to_owned()), wanted.part()).await
}
