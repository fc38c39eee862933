use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::run::Run;

pub fn route() -> Route {
    Route::get("/v1/runs/{id}", show)
        .about(
            "showRun",
            "A run, and where it stands; a beginning or end of its id that no other has will do",
        )
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns])
}

async fn show(call: Call, _: Nothing) -> Result<Reply<Run>, Problem> {
    let view = call.engine().run(call.by()?, call.path("id")).await?;
    Ok(super::reply(&call, &view))
}
