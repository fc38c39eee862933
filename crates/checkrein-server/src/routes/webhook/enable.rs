use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::webhook::Webhook;

pub fn route() -> Route {
    Route::post("/v1/webhooks/{id}/enable", enable)
        .about(
            "enableWebhook",
            "Send again to a webhook that was given up: what waits, and what happens from now on",
        )
        .to(Act::ManageWebhooks)
        .refuses(&[Kind::NotFound])
}

async fn enable(call: Call, _: Nothing) -> Result<Reply<Webhook>, Problem> {
    let webhook = call.engine().enable_webhook(call.by()?, call.path("id")).await?;
    Ok(Reply::new(Webhook::from(&webhook)))
}
