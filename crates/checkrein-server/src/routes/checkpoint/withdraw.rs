use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::MaybeJson;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::checkpoint::Checkpoint;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Withdrawal {
    /// Why
    #[serde(default)]
    reason: Option<String>,
}

pub fn route() -> Route {
    Route::post("/v1/checkpoints/{id}/withdraw", withdraw)
        .about(
            "withdrawCheckpoint",
            "Take back a checkpoint you made; the hold of a run is taken back by cancelling the run",
        )
        .to(Act::Withdraw)
        .refuses(&[Kind::NotFound, Kind::AlreadyDecided, Kind::RunRefused, Kind::PreconditionFailed])
}

async fn withdraw(call: Call, MaybeJson(asked): MaybeJson<Withdrawal>) -> Result<Reply<Checkpoint>, Problem> {
    let (id, expected) = (call.path("id"), call.if_match()?);
    let checkpoint = call.engine().withdraw_checkpoint(call.by()?, id, asked.reason, expected).await?;
    Ok(Reply::new(Checkpoint::from(&checkpoint)))
}
