use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::file::{SideWord, Tree};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// `base` for what was there before
    #[serde(default)]
    side: SideWord,
}

pub fn route() -> Route {
    Route::get("/v1/checkpoints/{id}/files", list)
        .about("listFiles", "Every file on the branch of a review")
        .to(Act::FetchBranches)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::Invalid])
}

async fn list(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Tree>, Problem> {
    let by = call.by()?;
    let reviewed = call.engine().review(by, call.path("id")).await?;
    let files = call.engine().review_files(by, &reviewed, wanted.side.into()).await?;
    Ok(Reply::new(Tree::from(&files)).about(&reviewed.view.run.id))
}
