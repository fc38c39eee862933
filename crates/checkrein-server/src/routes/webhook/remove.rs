use checkrein_engine::Act;

use crate::answer::Reply;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::webhook::Webhook;

pub fn route() -> Route {
    Route::delete("/v1/webhooks/{id}", remove)
        .about("removeWebhook", "Tell a webhook nothing any more, and forget what was on its way")
        .to(Act::ManageWebhooks)
        .refuses(&[Kind::NotFound])
}

async fn remove(call: Call) -> Result<Reply<Webhook>, Problem> {
    let webhook = call.engine().remove_webhook(call.by()?, call.path("id")).await?;
    Ok(Reply::new(Webhook::from(&webhook)))
}
