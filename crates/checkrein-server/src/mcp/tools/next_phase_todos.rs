use checkrein_core::run::job::HandIn;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::asking::Asking;
use super::super::tool::{Needs, Told, Tool};
use super::HandedIn;
use crate::ask::Json;
use crate::error::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Todos {
    /// What the next phase of work has to do, in order; an empty list takes back what was handed in
    todos: Vec<String>,
    /// The job; inside its attempt it is known
    job: Option<String>,
}

pub fn tool() -> Tool {
    Tool::new(
        "next_phase_todos",
        "In a strategic phase of your job: hand in the todos of the next phase of work, instead of those handed in \
         before. Only strategic phases may.",
        Act::HandIn,
        hand_in,
    )
    .needs(Needs::Phase)
}

async fn hand_in(asking: Asking, Json(Todos { todos, job }): Json<Todos>) -> Result<Told, Problem> {
    let piece = HandIn::NextTodos(todos.into_iter().map(Into::into).collect());
    let result = asking.with_attempt(job.as_deref(), move |files| files.hand_in(piece)).await?;
    let next = "keep the plan true, then end the phase; whether a person looks first is not yours to say";
    Told::json(&HandedIn { result, next: next.to_owned() })
}
