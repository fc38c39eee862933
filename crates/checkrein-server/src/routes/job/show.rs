use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::job::Job;

pub fn route() -> Route {
    Route::get("/v1/jobs/{id}", show)
        .about(
            "showJob",
            "A job, and where it stands; a beginning or end of its id that no other has will do",
        )
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns, Kind::Invalid])
}

async fn show(call: Call, _: Nothing) -> Result<Reply<Job>, Problem> {
    super::reply(&call, call.by()?, call.path("id")).await
}
