use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::worker::Worker;

pub fn route() -> Route {
    Route::get("/v1/workers/{name}", show)
        .about("showWorker", "A worker's policy; one without an entry of its own has what every worker has")
        .to(Act::Read)
        .refuses(&[Kind::Invalid])
}

async fn show(call: Call, _: Nothing) -> Result<Reply<Worker>, Problem> {
    let worker = call.engine().worker_view(call.by()?, call.path("name")).await?;
    Ok(Reply::new(Worker::from(&worker)))
}
