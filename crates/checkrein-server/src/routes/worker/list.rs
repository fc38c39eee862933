use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::page::{Page, PageWanted};
use crate::wire::worker::Worker;

pub fn route() -> Route {
    Route::get("/v1/workers", list)
        .about(
            "listWorkers",
            "Workers that have an entry in the settings, their policies, and what waits of each",
        )
        .to(Act::Read)
        .refuses(&[Kind::Invalid])
}

async fn list(call: Call, Query(wanted): Query<PageWanted>) -> Result<Reply<Page<Worker>>, Problem> {
    let workers = call.engine().workers(call.by()?).await?;
    Ok(Reply::new(Page::cut(workers.iter().map(Worker::from).collect(), &wanted)))
}
