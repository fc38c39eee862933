use checkrein_engine::{Act, RunView};
use checkrein_store::Version;

use crate::answer::Accepted;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::run::Run;

pub fn route() -> Route {
    Route::post("/v1/runs/{id}/resume", resume)
        .about("resumeRun", "Go on with a run that was paused or stopped; a worker does the work")
        .to(Act::ManageRuns)
        .refuses(&[
            Kind::NotFound,
            Kind::SeveralRuns,
            Kind::RunBusy,
            Kind::RunRefused,
            Kind::PreconditionFailed,
        ])
}

async fn resume(call: Call, _: Nothing) -> Result<Accepted<Run>, Problem> {
    let view = resumed(&call, call.path("id").to_owned(), call.if_match()?).await?;
    Ok(super::reply(&call, &view))
}

/// Has a worker of this server go on, where there is one.
pub async fn resumed(call: &Call, id: String, expected: Option<Version>) -> Result<RunView, Problem> {
    Ok(match call.app.workers() {
        Some(workers) => workers.resume(call.by()?.clone(), id, expected).await?,
        None => {
            call.apart(move |engine, by| async move { engine.resume_run(&by, &id, expected).await }).await?
        }
    })
}
