use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::webhook::Delivery;

pub fn route() -> Route {
    Route::post("/v1/webhooks/{id}/deliveries/{delivery}/retry", retry)
        .about("retryDelivery", "Send a delivery once more, as if it were new")
        .to(Act::ManageWebhooks)
        .refuses(&[Kind::NotFound])
}

async fn retry(call: Call, _: Nothing) -> Result<Reply<Delivery>, Problem> {
    let (webhook, delivery) = (call.path("id"), call.path("delivery"));
    let delivery = call.engine().retry_delivery(call.by()?, webhook, delivery).await?;
    Ok(Reply::new(Delivery::from(&delivery)))
}
