use std::time::Duration;

use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::MaybeJson;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::webhook::NewWebhook;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rotation {
    /// How long the old secret signs as well, such as 1h; a day if nothing is said
    #[serde(default)]
    overlap: Option<String>,
}

pub const OVERLAP: Duration = Duration::from_secs(24 * 3600);

pub fn route() -> Route {
    Route::post("/v1/webhooks/{id}/rotate", rotate)
        .about(
            "rotateWebhook",
            "A new secret for a webhook, shown once; the old one signs as well for a while",
        )
        .to(Act::ManageWebhooks)
        .refuses(&[Kind::NotFound])
        .shows_secret()
}

async fn rotate(call: Call, MaybeJson(asked): MaybeJson<Rotation>) -> Result<Reply<NewWebhook>, Problem> {
    let overlap = match asked.overlap.as_deref() {
        None => OVERLAP,
        Some(text) => checkrein_core::duration::parse(text).ok_or_else(|| {
            Problem::new(Kind::Invalid, "`overlap` is not a length of time").hint("write it such as 1h or 1d")
        })?,
    };
    let made = call.engine().rotate_webhook(call.by()?, call.path("id"), overlap).await?;
    Ok(Reply::new(NewWebhook::from(&made)))
}
