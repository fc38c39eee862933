use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::activity::LlmRequest;

pub fn route() -> Route {
    Route::get("/v1/runs/{id}/requests", list)
        .about("listLlmRequests", "What the built-in agent of a run asked of its model, oldest first")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns])
}

async fn list(call: Call, _: Nothing) -> Result<Reply<Vec<LlmRequest>>, Problem> {
    let found = call.engine().model_requests(call.by()?, call.path("id"), None).await?;
    Ok(Reply::new(found.into_iter().map(|one| LlmRequest::of(one, false)).collect()))
}
