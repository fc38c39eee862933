use checkrein_core::frame::PushRequest;
use checkrein_core::heuristic::Evaluation;
use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;

pub fn route() -> Route {
    Route::post("/v1/frames/should-push", should_push)
        .about("shouldPush", "Whether a child frame should be pushed")
        .to(Act::Read)
        .changes_nothing()
}

async fn should_push(call: Call, Json(request): Json<PushRequest>) -> Result<Reply<Evaluation>, Problem> {
    Ok(Reply::new(call.engine().should_push(call.by()?, &request)?))
}
