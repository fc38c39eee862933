use checkrein_core::shown::harmless;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Written;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The frame; the one that is worked in if nothing is said
    frame: Option<String>,
}

pub fn route() -> Route {
    Route::get("/v1/frames/{id}/log", log)
        .about("showFrameLog", "The log of a frame, or the end of it if it is long")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::FrameRefused, Kind::Invalid])
}

async fn log(call: Call, Query(wanted): Query<Wanted>) -> Result<Written, Problem> {
    let text = call.engine().frame_log(call.by()?, &super::wanted(&call), wanted.frame.as_deref()).await?;
    // What an agent wrote must not command the terminal of whoever looks.
    Ok(Written { media_type: "text/plain; charset=utf-8", text: harmless(&text) })
}
