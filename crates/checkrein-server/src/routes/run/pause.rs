use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::run::Run;

pub fn route() -> Route {
    Route::post("/v1/runs/{id}/pause", pause)
        .about(
            "pauseRun",
            "End what runs in a run for now; it goes on when it is resumed, and nothing is lost",
        )
        .to(Act::ManageRuns)
        .refuses(&[
            Kind::NotFound,
            Kind::SeveralRuns,
            Kind::RunBusy,
            Kind::RunRefused,
            Kind::PreconditionFailed,
        ])
}

async fn pause(call: Call, _: Nothing) -> Result<Reply<Run>, Problem> {
    let (id, expected) = (call.path("id").to_owned(), call.if_match()?);
    let view =
        call.apart(move |engine, by| async move { engine.pause_run(&by, &id, expected).await }).await?;
    Ok(super::reply(&call, &view))
}
