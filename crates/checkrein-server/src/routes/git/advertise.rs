use axum::body::{Body, Bytes};
use axum::http::Method;
use checkrein_engine::{Act, BranchesWanted};
use checkrein_forge::Part;
use futures_util::{StreamExt, stream};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Said;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Asked {
    service: ServiceWord,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
enum ServiceWord {
    #[serde(rename = "git-upload-pack")]
    Fetch,
    #[serde(rename = "git-receive-pack")]
    Push,
}

pub fn route() -> Route {
    Route::git(Method::GET, "/git/{id}/info/refs", advertise)
        .about("advertiseBranches", "For git: which branches of a job there are to fetch or to push to")
        .to(Act::FetchBranches)
        .more(&[("with `service=git-receive-pack`", Act::PushToBranches)])
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::Invalid])
}

async fn advertise(call: Call, Query(asked): Query<Asked>, _: Body) -> Result<Said, Problem> {
    let (wanted, head, media_type) = match asked.service {
        ServiceWord::Fetch => (
            BranchesWanted::Fetch,
            "001e# service=git-upload-pack\n0000",
            "application/x-git-upload-pack-advertisement",
        ),
        ServiceWord::Push => (
            BranchesWanted::Push,
            "001f# service=git-receive-pack\n0000",
            "application/x-git-receive-pack-advertisement",
        ),
    };
    let told = super::converse(&call, wanted, Part::Advertise, Body::empty()).await?;
    let head = stream::once(async move { Ok::<Bytes, axum::Error>(Bytes::from_static(head.as_bytes())) });
    Ok(Said { media_type, body: Body::from_stream(head.chain(told.into_data_stream())) })
}
