use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::activity::LlmRequest;

pub fn route() -> Route {
    Route::get("/v1/runs/{id}/requests/{request}", show)
        .about(
            "showLlmRequest",
            "One request of the built-in agent to its model and its answer, whole, without secrets",
        )
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns])
}

async fn show(call: Call, _: Nothing) -> Result<Reply<LlmRequest>, Problem> {
    let wanted = call.path("request").to_owned();
    let found = call.engine().model_requests(call.by()?, call.path("id"), Some(&wanted)).await?;
    let none = || Problem::new(Kind::NotFound, format!("there is no request `{wanted}`"));
    let found = found.into_iter().next().ok_or_else(none)?;
    Ok(Reply::new(LlmRequest::of(found, true)))
}
