use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::webhook::Delivery;

pub fn route() -> Route {
    Route::post("/v1/webhooks/{id}/test", test)
        .about("testWebhook", "Send something to a webhook now, once, and say what came of it")
        .to(Act::ManageWebhooks)
        .refuses(&[Kind::NotFound])
}

async fn test(call: Call, _: Nothing) -> Result<Reply<Delivery>, Problem> {
    let delivery = call.engine().test_webhook(call.by()?, call.path("id")).await?;
    Ok(Reply::new(Delivery::from(&delivery)))
}
