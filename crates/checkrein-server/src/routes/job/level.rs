use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::job::Job;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// full, review, partial, guided, dependent, or a block of settings
    #[schemars(with = "super::create::AutonomySent")]
    autonomy: Value,
}

pub fn route() -> Route {
    Route::post("/v1/jobs/{id}/level", change)
        .about(
            "changeLevel",
            "Let the agent of a job go further, or less far, from its next boundary on; what waits for review still waits",
        )
        .to(Act::ManageRuns)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns, Kind::RunRefused, Kind::PreconditionFailed])
}

async fn change(call: Call, Json(wanted): Json<Wanted>) -> Result<Reply<Job>, Problem> {
    let autonomy = super::create::written(wanted.autonomy);
    let by = call.by()?;
    let view = call.engine().change_level(by, call.path("id"), &autonomy, call.if_match()?).await?;
    super::reply(&call, by, view.run.id.as_str()).await
}
