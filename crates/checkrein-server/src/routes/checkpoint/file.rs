use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::file::{File, SideWord};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Where it is in the repository
    path: String,
    /// `base` for how it was before
    #[serde(default)]
    side: SideWord,
}

pub fn route() -> Route {
    Route::get("/v1/checkpoints/{id}/file", show)
        .about("readFile", "One file on the branch of a review")
        .to(Act::FetchBranches)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::Invalid])
}

async fn show(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<File>, Problem> {
    let by = call.by()?;
    let reviewed = call.engine().review(by, call.path("id")).await?;
    let file = call.engine().review_file(by, &reviewed, &wanted.path, wanted.side.into()).await?;
    Ok(Reply::new(File::from(&file)).about(&reviewed.view.run.id))
}
