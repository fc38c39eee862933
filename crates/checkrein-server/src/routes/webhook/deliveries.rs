use checkrein_core::notification::DeliveryStatus;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::page::{Limit, Page};
use crate::wire::webhook::Delivery;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only those in this status
    status: Option<DeliveryStatus>,
    /// How many at most
    #[serde(default)]
    limit: Limit,
    /// Go on before this cursor, as an answer names it in `next`
    before: Option<i64>,
}

pub fn route() -> Route {
    Route::get("/v1/webhooks/{id}/deliveries", deliveries)
        .about("listDeliveries", "What was sent to a webhook, and what is on its way; the newest first")
        .to(Act::ManageWebhooks)
        .refuses(&[Kind::NotFound])
}

async fn deliveries(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Page<Delivery>>, Problem> {
    let Wanted { status, limit, before } = wanted;
    let page = call.engine().deliveries(call.by()?, call.path("id"), status, before, limit.get()).await?;
    Ok(Reply::new(Page::of(page, |row| Delivery::from(&row))))
}
