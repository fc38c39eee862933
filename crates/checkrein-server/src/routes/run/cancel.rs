use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::MaybeJson;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::run::Run;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cancellation {
    /// Why
    #[serde(default)]
    reason: Option<String>,
}

pub fn route() -> Route {
    Route::post("/v1/runs/{id}/cancel", cancel)
        .about("cancelRun", "End a run for good, with what runs in it")
        .to(Act::ManageRuns)
        .refuses(&[
            Kind::NotFound,
            Kind::SeveralRuns,
            Kind::RunBusy,
            Kind::RunRefused,
            Kind::PreconditionFailed,
        ])
}

async fn cancel(call: Call, MaybeJson(asked): MaybeJson<Cancellation>) -> Result<Reply<Run>, Problem> {
    let (id, expected) = (call.path("id").to_owned(), call.if_match()?);
    let reason = asked.reason;
    let view = call
        .apart(move |engine, by| async move { engine.cancel_run_at(&by, &id, reason, expected).await })
        .await?;
    Ok(super::reply(&call, &view))
}
