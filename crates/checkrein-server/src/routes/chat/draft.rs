use checkrein_core::companion::Draft;
use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

pub fn route() -> Route {
    Route::post("/v1/chats/{id}/draft", write)
        .about(
            "writeDraft",
            "Write down what the job is to be, as you have it; the model is told with the next question. What is left out is not written down any more",
        )
        .to(Act::Ask)
        .refuses(&[Kind::NotFound, Kind::AlreadyDecided])
}

async fn write(call: Call, Json(draft): Json<Draft>) -> Result<Reply<Draft>, Problem> {
    Ok(Reply::new(call.engine().write_draft(call.by()?, call.path("id"), draft).await?))
}
