use checkrein_engine::{Act, ChatOf};

use crate::ask::Json;
use crate::call::Call;
use crate::chat::{self, Answered};
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::routes::chat::Question;

pub fn route() -> Route {
    Route::post("/v1/runs/{id}/chat", ask)
        .about(
            "askAboutRun",
            "Ask the companion about a job; with `Accept: text/event-stream` the answer comes as it is written. It is finished and kept whether or not somebody reads it",
        )
        .to(Act::Ask)
        .streams()
        .refuses(&[Kind::NotFound, Kind::SeveralRuns, Kind::ChatBusy])
}

async fn ask(call: Call, Json(question): Json<Question>) -> Result<Answered, Problem> {
    chat::asked(&call, ChatOf::Run(call.path("id").to_owned()), question.text).await
}
