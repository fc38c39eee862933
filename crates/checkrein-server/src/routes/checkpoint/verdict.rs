use checkrein_engine::{Act, VerdictRequest};

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::checkpoint::{Checkpoint, VerdictBody};

pub fn route() -> Route {
    Route::post("/v1/checkpoints/{id}/verdict", give)
        .about("giveVerdict", "Decide a checkpoint; the same verdict again changes nothing")
        .to(Act::GiveVerdict)
        .refuses(&[
            Kind::NotFound,
            Kind::AlreadyDecided,
            Kind::StaleDigest,
            Kind::DigestNeeded,
            Kind::MarkedFiles,
            Kind::NotShown,
            Kind::RunRefused,
            Kind::PreconditionFailed,
        ])
}

async fn give(call: Call, Json(verdict): Json<VerdictBody>) -> Result<Reply<Checkpoint>, Problem> {
    let mut request = VerdictRequest { version: call.if_match()?, ..verdict.try_into()? };
    for (index, comment) in request.comments.iter_mut().enumerate() {
        comment.key = call.nonce().map(|nonce| format!("{}.{index}", nonce.uuid()));
    }
    let checkpoint = call.engine().give_verdict(call.by()?, call.path("id"), &request).await?;
    Ok(Reply::new(Checkpoint::from(&checkpoint)))
}
