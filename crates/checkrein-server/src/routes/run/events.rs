use checkrein_engine::{Act, EventsOf};

use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::routes::event::{self, Events, Start, Wanted};

pub fn route() -> Route {
    Route::get("/v1/runs/{id}/events", list)
        .about(
            "listRunEvents",
            "What happened in a run and at its checkpoints; with `Accept: text/event-stream` from the beginning and as it goes on",
        )
        .to(Act::Read)
        .streams()
        .refuses(&[Kind::NotFound, Kind::SeveralRuns])
}

async fn list(call: Call, Query(wanted): Query<Wanted>) -> Result<Events, Problem> {
    let id = call.engine().run_id(call.by()?, call.path("id")).await?;
    event::answer(&call, wanted, EventsOf::Run(id), Start::Beginning).await
}
