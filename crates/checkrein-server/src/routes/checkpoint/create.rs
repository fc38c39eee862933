use checkrein_engine::{Act, NewCheckpoint};

use crate::answer::Created;
use crate::ask::ExactJson;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::checkpoint::{Checkpoint, CheckpointRequest};

pub fn route() -> Route {
    Route::post("/v1/checkpoints", create)
        .about("createCheckpoint", "Ask for an approval; the worker's policy says whether one is needed")
        .to(Act::AskForCheckpoint)
        .refuses(&[Kind::OtherContent])
}

async fn create(
    call: Call,
    ExactJson(asked): ExactJson<CheckpointRequest>,
) -> Result<Created<Checkpoint>, Problem> {
    let mut new =
        NewCheckpoint::try_from(asked).map_err(|bad| Problem::new(Kind::Invalid, bad.to_string()))?;
    // A request that is sent again asks about the same checkpoint.
    new.id = new.id.or_else(|| Some(call.nonce()?.uuid().to_string()));
    let checkpoint = call.engine().create_checkpoint(call.by()?, new).await?;
    let path = super::path(checkpoint.id.as_str());
    Ok(Created::new(Checkpoint::from(&checkpoint)).location(path))
}
