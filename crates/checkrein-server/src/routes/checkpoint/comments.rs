use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::review::{Comment, Thread};

/// All comments of a review, and how they belong together.
#[derive(Debug, Serialize, JsonSchema)]
struct Comments {
    /// Oldest first
    items: Vec<Comment>,
    threads: Vec<Thread>,
}

pub fn route() -> Route {
    Route::get("/v1/checkpoints/{id}/comments", list)
        .about("listComments", "What was written about a review, each thread at the line it belongs to now")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::Invalid])
}

async fn list(call: Call, _: Nothing) -> Result<Reply<Comments>, Problem> {
    let by = call.by()?;
    let reviewed = call.engine().review(by, call.path("id")).await?;
    let material = call.engine().review_material(by, &reviewed).await?;
    let items = reviewed.comments.iter().map(Comment::from).collect();
    let threads = Thread::all(&reviewed, &material);
    Ok(Reply::new(Comments { items, threads }).about(&reviewed.view.run.id))
}
