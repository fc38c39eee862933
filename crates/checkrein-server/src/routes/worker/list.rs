use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::page::{Page, PageWanted};
use crate::wire::worker::Worker;
use crate::wire::workforce::Workers;

pub fn route() -> Route {
    Route::get("/v1/workers", list)
        .about(
            "listWorkers",
            "Workers that have an entry in the settings with their policies, the processes that go on with runs, and how many runs wait for one",
        )
        .to(Act::Read)
        .refuses(&[Kind::Invalid])
}

async fn list(call: Call, Query(wanted): Query<PageWanted>) -> Result<Reply<Workers>, Problem> {
    let by = call.by()?;
    let declared = call.engine().workers(by).await?;
    let declared = Page::cut(declared.iter().map(Worker::from).collect(), &wanted);
    Ok(Reply::new(Workers::of(declared, &call.engine().workforce(by).await?)))
}
