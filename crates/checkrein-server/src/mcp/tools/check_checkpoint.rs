use std::time::Duration;

use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::asking::Asking;
use super::super::tool::{Told, Tool};
use super::request_checkpoint::Asked;
use crate::ask::Json;
use crate::error::{Kind, Problem};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The checkpoint's id
    id: String,
    /// How long to wait for a verdict at most, such as 30s; not at all if absent, and never longer than 50s
    timeout: Option<String>,
}

/// Clients give up on a call after a minute.
const TIMEOUT_MAX: Duration = Duration::from_secs(50);

pub fn tool() -> Tool {
    Tool::new(
        "check_checkpoint",
        "How a checkpoint stands, and what to do now. With `timeout` it waits for the verdict; still `pending` \
         afterwards means: call it again later, and do not go on.",
        Act::Read,
        check,
    )
}

async fn check(asking: Asking, Json(wanted): Json<Wanted>) -> Result<Told, Problem> {
    let timeout = match wanted.timeout.as_deref().map(checkrein_core::duration::parse) {
        None => Duration::ZERO,
        Some(Some(timeout)) => timeout.min(TIMEOUT_MAX),
        Some(None) => {
            return Err(Problem::new(Kind::Invalid, "`timeout` is not a length of time")
                .hint("write it such as 30s or 1m"));
        }
    };
    let (engine, by, id) = (asking.engine()?, asking.by(), wanted.id.as_str());
    let now = || engine.checkpoint(by, id);
    let view = match timeout {
        Duration::ZERO => now().await,
        timeout => tokio::select! {
            view = engine.wait_for_checkpoint(by, id, Some(timeout)) => view,
            // What it is now is an answer, too.
            () = asking.place.closing() => now().await,
            () = asking.context.ct.cancelled() => now().await,
        },
    };
    let view = view.map_err(|error| super::not_found(error, "list_checkpoints shows what there is"))?;
    Told::json(&Asked::of(&view.checkpoint, &asking.caller.look))
}
