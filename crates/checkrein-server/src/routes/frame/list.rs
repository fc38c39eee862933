use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::frame::FrameSessionItem;
use crate::wire::page::{Limit, Page};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only those of agents that work in this directory
    directory: Option<String>,
    /// How many at most
    #[serde(default)]
    limit: Limit,
    /// Go on before this cursor, as an answer names it in `next`
    before: Option<i64>,
}

pub fn route() -> Route {
    Route::get("/v1/frames", list).about("listFrames", "Sessions of frames, the newest first").to(Act::Read)
}

async fn list(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Page<FrameSessionItem>>, Problem> {
    let Wanted { directory, limit, before } = wanted;
    let page = call.engine().frame_sessions(call.by()?, directory.as_deref(), before, limit.get()).await?;
    Ok(Reply::new(Page::of(page, FrameSessionItem::from)))
}
