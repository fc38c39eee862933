use checkrein_core::run::Definition;
use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::Object;

/// In the place of a value that nobody but the step should see.
const MASK: &str = "***";

pub fn route() -> Route {
    Route::get("/v1/runs/{id}/definition", show)
        .about(
            "showRunDefinition",
            "What a run was started with: its plan and its policy, without the values of variables",
        )
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns])
}

async fn show(call: Call, _: Nothing) -> Result<Reply<Object>, Problem> {
    let view = call.engine().run(call.by()?, call.path("id")).await?;
    let mut definition = Definition::clone(&view.run.definition);
    for task in definition.plan.phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
        task.env.values_mut().for_each(|value| *value = MASK.to_owned());
    }
    match serde_json::to_value(&definition) {
        Ok(serde_json::Value::Object(object)) => Ok(Reply::new(object).about(&view.run.id)),
        _ => Err(Problem::new(Kind::Internal, "the definition cannot be written")),
    }
}
