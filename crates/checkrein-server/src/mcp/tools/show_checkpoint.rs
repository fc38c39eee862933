use checkrein_engine::Act;
use serde_json::{Value, json};

use super::super::asking::Asking;
use super::super::tool::{Told, Tool};
use super::ById;
use crate::ask::Json;
use crate::error::Problem;
use crate::wire::checkpoint::WholeCheckpoint;

pub fn tool() -> Tool {
    Tool::new(
        "show_checkpoint",
        "A checkpoint, what it is about, and where a person looks at it.",
        Act::Read,
        show,
    )
}

async fn show(asking: Asking, Json(ById { id }): Json<ById>) -> Result<Told, Problem> {
    let view = asking.engine()?.checkpoint(asking.by(), &id).await;
    let view = view.map_err(|error| super::not_found(error, "list_checkpoints shows what there is"))?;
    let view = asking.engine()?.redacted_view(view);
    let told = Told::json(&WholeCheckpoint::from(&view))?;
    let Told::Json(Value::Object(mut whole)) = told else { return Ok(told) };
    let look_at = asking.caller.look.at(view.checkpoint.id.as_str(), &view.checkpoint.kind);
    whole.insert("look_at".to_owned(), json!(look_at));
    Ok(Told::Json(whole.into()))
}
