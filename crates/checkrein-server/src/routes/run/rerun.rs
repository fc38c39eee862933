use checkrein_engine::Act;

use crate::answer::Created;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::run::Run;

pub fn route() -> Route {
    Route::post("/v1/runs/{id}/rerun", rerun)
        .about("rerun", "Do the work of a run again, as a new run; a worker takes it up. What a person stopped, refused or changed takes a reviewer")
        .to(Act::StartRun)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns, Kind::PreconditionFailed])
}

async fn rerun(call: Call, _: Nothing) -> Result<Created<Run>, Problem> {
    let by = call.by()?;
    let id = call.engine().rerun_once(by, call.path("id"), call.if_match()?, call.nonce()).await?;
    let view = call.engine().run(by, id.as_str()).await?;
    Ok(super::reply(&call, &view).location(super::path(id.as_str())))
}
