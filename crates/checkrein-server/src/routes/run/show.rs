use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::run::Run;
use crate::wire::workforce::Placement;

pub fn route() -> Route {
    Route::get("/v1/runs/{id}", show)
        .about(
            "showRun",
            "A run, and where it stands; a beginning or end of its id that no other has will do",
        )
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns])
}

async fn show(call: Call, _: Nothing) -> Result<Reply<Run>, Problem> {
    let view = call.engine().run(call.by()?, call.path("id")).await?;
    let found = call.engine().run_where(call.by()?, &view.run.id).await?;
    let run = Run { placement: Some(Placement::from(&found)), ..Run::of(&view, call.engine().now()) };
    Ok(Reply::new(run).at(view.run.state.version).about(&view.run.id))
}
