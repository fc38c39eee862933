use std::time::Duration;

use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::checkpoint::WholeCheckpoint;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// How long to wait at most, such as 30s; a minute is the most
    #[schemars(regex(pattern = checkrein_core::duration::PATTERN))]
    timeout: Option<String>,
}

const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

pub fn route() -> Route {
    Route::get("/v1/checkpoints/{id}/wait", wait)
        .about(
            "waitForCheckpoint",
            "Wait for the verdict; the checkpoint as it is then, perhaps still pending",
        )
        .to(Act::Read)
        .refuses(&[Kind::NotFound])
}

async fn wait(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<WholeCheckpoint>, Problem> {
    let timeout = match wanted.timeout.as_deref().map(checkrein_core::duration::parse) {
        None => TIMEOUT_DEFAULT,
        Some(Some(timeout)) => timeout,
        Some(None) => {
            return Err(Problem::new(Kind::Malformed, "`timeout` is not a length of time")
                .hint("write it such as 30s or 1m"));
        }
    };
    let timeout = timeout.min(call.app.limits().wait_max);
    let (by, id) = (call.by()?, call.path("id"));
    let view = tokio::select! {
        view = call.engine().wait_for_checkpoint(by, id, Some(timeout)) => view?,
        // What it is now is an answer, too.
        () = call.app.closing() => call.engine().checkpoint(by, id).await?,
    };
    Ok(super::reply(&call, view))
}
