use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::webhook::Webhook;

pub fn route() -> Route {
    Route::get("/v1/webhooks", list)
        .about("listWebhooks", "Webhooks, without their secrets")
        .to(Act::ManageWebhooks)
}

async fn list(call: Call, _: Nothing) -> Result<Reply<Vec<Webhook>>, Problem> {
    let webhooks = call.engine().webhooks(call.by()?).await?;
    Ok(Reply::new(webhooks.iter().map(Webhook::from).collect()))
}
