use checkrein_core::frame::PopRequest;
use checkrein_core::heuristic::Evaluation;
use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;

pub fn route() -> Route {
    Route::post("/v1/frames/should-pop", should_pop)
        .about("shouldPop", "Whether the current frame should be popped")
        .to(Act::Read)
        .changes_nothing()
}

async fn should_pop(call: Call, Json(request): Json<PopRequest>) -> Result<Reply<Evaluation>, Problem> {
    Ok(Reply::new(call.engine().should_pop(call.by()?, &request)?))
}
