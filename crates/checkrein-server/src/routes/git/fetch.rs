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
    Route::git(Method::POST, "/git/{id}/git-upload-pack", fetch)
        .about("fetchBranches", "For git: the commits of a job that somebody has not got")
        .to(Act::FetchBranches)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::UnsupportedMediaType, Kind::Invalid])
}

async fn fetch(call: Call, _: Nothing, body: Body) -> Result<Said, Problem> {
    super::expect_type(&call, "application/x-git-upload-pack-request")?;
    let body = super::converse(&call, BranchesWanted::Fetch, Part::Exchange, body).await?;
    Ok(Said { media_type: "application/x-git-upload-pack-result", body })
}
