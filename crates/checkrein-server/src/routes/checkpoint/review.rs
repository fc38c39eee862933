use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::review::Review;

pub fn route() -> Route {
    Route::get("/v1/checkpoints/{id}/review", show)
        .about(
            "showReview",
            "What a checkpoint of a job is about: documents, commits, the diff, comments, marks; a job's id names the review it waits at",
        )
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::Invalid])
}

async fn show(call: Call, _: Nothing) -> Result<Reply<Review>, Problem> {
    let by = call.by()?;
    let reviewed = call.engine().review(by, call.path("id")).await?;
    let material = call.engine().review_material(by, &reviewed).await?;
    let run = &reviewed.view.run.id;
    let review = Review::of(&reviewed, &material).elsewhere(call.clone_url(run));
    Ok(Reply::new(review).at(reviewed.checkpoint.version.0).about(run))
}
