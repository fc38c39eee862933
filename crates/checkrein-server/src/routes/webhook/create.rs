use checkrein_core::notification::{NotificationType, WebhookKind, WebhookUrl};
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Created;
use crate::ask::{Json, some_of};
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::webhook::NewWebhook;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Where to send: `https://…`, or `smtp://user:password@host/?from=ADDRESS&to=ADDRESS`
    pub url: String,
    /// How it is spoken to; told by the address if nothing is said
    pub kind: Option<WebhookKind>,
    /// What people call it
    #[serde(default)]
    pub name: String,
    /// What it is told of, such as `checkpoint.created`; what waits for a person if nothing is said
    #[schemars(length(min = 1))]
    pub types: Option<Vec<String>>,
    /// It may be in a private network, or on the server's machine
    #[serde(default)]
    pub allow_private: bool,
}

pub fn route() -> Route {
    Route::post("/v1/webhooks", create)
        .about(
            "createWebhook",
            "Tell somebody what happens from now on; the secret is shown once, so the answer is not kept for a key",
        )
        .to(Act::ManageWebhooks)
        .shows_secret()
}

async fn create(call: Call, Json(wanted): Json<Wanted>) -> Result<Created<NewWebhook>, Problem> {
    Ok(Created::new(made(&call, wanted).await?))
}

pub async fn made(call: &Call, wanted: Wanted) -> Result<NewWebhook, Problem> {
    let kind = |word: String| {
        let known = NotificationType::ALL.map(NotificationType::name).join(", ");
        NotificationType::parse(&word).ok_or_else(|| {
            Problem::new(Kind::Invalid, format!("`{word}` is nothing that can be told of"))
                .hint(format!("there are {known}"))
        })
    };
    let new = checkrein_engine::NewWebhook {
        name: wanted.name,
        kind: wanted.kind,
        url: WebhookUrl::new(wanted.url),
        types: some_of("types", wanted.types)?.into_iter().map(kind).collect::<Result<_, _>>()?,
        allow_private: wanted.allow_private,
    };
    let made = call.engine().create_webhook(call.by()?, new).await?;
    Ok(NewWebhook::from(&made))
}
