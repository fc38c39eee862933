use checkrein_core::run::RunId;
use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::chat::Proposal;

pub fn route() -> Route {
    Route::post("/v1/runs/{id}/chat/proposals/{proposal}/discard", discard)
        .about("discardProposal", "Say that what the companion proposed will not be done")
        .to(Act::Ask)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns, Kind::AlreadyDecided])
}

async fn discard(call: Call, _: Nothing) -> Result<Reply<Proposal>, Problem> {
    let run = call.engine().run_id(call.by()?, call.path("id")).await?;
    let (named, id) = (run.clone(), call.path("proposal").to_owned());
    let done =
        call.apart(move |engine, by| async move { engine.discard_proposal(&by, &named, &id).await }).await?;
    Ok(Reply::new(Proposal::from(done)).about(&RunId::new(run)))
}
