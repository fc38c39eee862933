use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ThreadResolved {
    /// A comment of the thread
    comment: String,
    /// Whether it is settled, or open again
    resolved: bool,
}

pub fn route() -> Route {
    Route::post("/v1/checkpoints/{id}/threads", resolve)
        .about("resolveThread", "Say that a thread of a review is settled, or that it is open again")
        .to(Act::Comment)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::AlreadyDecided])
}

async fn resolve(call: Call, Json(asked): Json<ThreadResolved>) -> Result<Reply<ThreadResolved>, Problem> {
    let id = call.path("id");
    call.engine().resolve_thread(call.by()?, id, &asked.comment, asked.resolved).await?;
    Ok(Reply::new(asked))
}
