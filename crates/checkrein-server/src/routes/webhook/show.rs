use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::webhook::Webhook;

pub fn route() -> Route {
    Route::get("/v1/webhooks/{id}", show)
        .about("showWebhook", "A webhook, and how it goes with it")
        .to(Act::ManageWebhooks)
        .refuses(&[Kind::NotFound])
}

async fn show(call: Call, _: Nothing) -> Result<Reply<Webhook>, Problem> {
    let webhook = call.engine().webhook(call.by()?, call.path("id")).await?;
    Ok(Reply::new(Webhook::from(&webhook)))
}
