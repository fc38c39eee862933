use checkrein_engine::{Act, ChatOf};

use crate::ask::Query;
use crate::call::Call;
use crate::chat::{self, Shown};
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::routes::chat::Wanted;

pub fn route() -> Route {
    Route::get("/v1/runs/{id}/chat", show)
        .about(
            "showRunChat",
            "What was said about a job, and what was proposed; with `Accept: text/event-stream` each message as it is and whenever it changes",
        )
        .to(Act::ReadChat)
        .streams()
        .refuses(&[Kind::NotFound, Kind::SeveralRuns, Kind::Invalid])
}

async fn show(call: Call, Query(wanted): Query<Wanted>) -> Result<Shown, Problem> {
    chat::shown(&call, ChatOf::Run(call.path("id").to_owned()), wanted.part()).await
}
