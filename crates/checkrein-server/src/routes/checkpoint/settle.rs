use checkrein_engine::{Act, Settlement};

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::file::{Edited, SettlementBody};

pub fn route() -> Route {
    Route::post("/v1/checkpoints/{id}/settlement", settle)
        .about(
            "settleConflict",
            "Settle the conflict a review is held by: one commit in your name that joins both sides",
        )
        .to(Act::PushToBranches)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::AlreadyDecided, Kind::StaleHead])
}

async fn settle(call: Call, Json(body): Json<SettlementBody>) -> Result<Reply<Edited>, Problem> {
    let settlement =
        Settlement::try_from(body).map_err(|bad| Problem::new(Kind::Invalid, bad.to_string()))?;
    let settled = call.engine().settle_conflict(call.by()?, call.path("id"), &settlement).await?;
    Ok(Reply::new(Edited::from(&settled)))
}
