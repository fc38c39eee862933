use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::page::{Page, PageWanted};
use crate::wire::webhook::Webhook;

pub fn route() -> Route {
    Route::get("/v1/webhooks", list)
        .about("listWebhooks", "Webhooks, without their secrets")
        .to(Act::ManageWebhooks)
}

async fn list(call: Call, Query(wanted): Query<PageWanted>) -> Result<Reply<Page<Webhook>>, Problem> {
    let webhooks = call.engine().webhooks(call.by()?).await?;
    Ok(Reply::new(Page::cut(webhooks.iter().map(Webhook::from).collect(), &wanted)))
}
