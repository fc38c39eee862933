use checkrein_engine::{Act, EventsOf};

use super::{Events, Start, Wanted};
use crate::ask::Query;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;

pub fn route() -> Route {
    Route::get("/v1/events", list)
        .about(
            "listEvents",
            "What happened, in commit order; with `Accept: text/event-stream` as it happens, from now on or after `Last-Event-ID`",
        )
        .to(Act::Read)
        .streams()
}

async fn list(call: Call, Query(wanted): Query<Wanted>) -> Result<Events, Problem> {
    super::answer(&call, wanted, EventsOf::Everything, Start::Now).await
}
