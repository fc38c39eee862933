use checkrein_engine::{Act, ChatOf};

use super::Question;
use crate::ask::Json;
use crate::call::Call;
use crate::chat::{self, Answered};
use crate::error::{Kind, Problem};
use crate::route::Route;

pub fn route() -> Route {
    Route::post("/v1/chats/{id}/messages", ask)
        .about(
            "askChat",
            "Say something in a conversation that prepares a job; with `Accept: text/event-stream` the answer comes as it is written",
        )
        .to(Act::Ask)
        .streams()
        .refuses(&[Kind::NotFound, Kind::ChatBusy])
}

async fn ask(call: Call, Json(question): Json<Question>) -> Result<Answered, Problem> {
    chat::asked(&call, ChatOf::Chat(call.path("id").to_owned()), question.text).await
}
