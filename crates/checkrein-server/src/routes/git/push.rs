use axum::body::Body;
use axum::http::Method;
use checkrein_engine::{Act, BranchesWanted};
use checkrein_forge::Part;

use super::Said;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

pub fn route() -> Route {
    Route::git(Method::POST, "/git/{id}/git-receive-pack", push)
        .about("pushToBranch", "For git: commits of somebody for the open branch of a job, which only goes forward; the review moves to them")
        .to(Act::PushToBranches)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::UnsupportedMediaType, Kind::Invalid])
}

async fn push(call: Call, _: Nothing, body: Body) -> Result<Said, Problem> {
    super::expect_type(&call, "application/x-git-receive-pack-request")?;
    let body = super::converse(&call, BranchesWanted::Push, Part::Exchange, body).await?;
    Ok(Said { media_type: "application/x-git-receive-pack-result", body })
}
