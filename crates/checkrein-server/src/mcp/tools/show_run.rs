use checkrein_engine::Act;

use super::super::asking::Asking;
use super::super::tool::{Told, Tool};
use super::ById;
use crate::ask::Json;
use crate::error::Problem;
use crate::wire::run::Run;

pub fn tool() -> Tool {
    Tool::new(
        "show_run",
        "A run or job, and where it stands; a beginning or end of its id that no other has will do.",
        Act::Read,
        show,
    )
}

async fn show(asking: Asking, Json(ById { id }): Json<ById>) -> Result<Told, Problem> {
    let engine = asking.engine()?;
    let view = engine.run(asking.by(), &id).await;
    let view = view.map_err(|error| super::not_found(error, "list_runs shows what there is"))?;
    Told::json(&Run::of(&view, engine.now()))
}
