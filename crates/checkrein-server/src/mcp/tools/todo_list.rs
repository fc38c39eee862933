use checkrein_core::run::job::{BriefJson, Todo};
use checkrein_engine::Act;
use serde::Serialize;
use serde_json::Value;

use super::super::asking::Asking;
use super::super::tool::{Needs, Told, Tool};
use super::OfJob;
use crate::ask::MaybeJson;
use crate::error::Problem;

pub fn tool() -> Tool {
    Tool::new(
        "todo_list",
        "What this phase of your job is for: its kind, the todos with what is done of them, and what is handed in so \
         far for the next phase.",
        Act::HandIn,
        list,
    )
    .needs(Needs::Phase)
    .looks()
}

#[derive(Serialize)]
struct Listed<'b> {
    job: &'b str,
    phase: &'b checkrein_core::run::job::BriefPhase,
    todos: Vec<Todo>,
    next_todos: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    replan: Option<&'b str>,
}

async fn list(asking: Asking, MaybeJson(OfJob { job }): MaybeJson<OfJob>) -> Result<Told, Problem> {
    let read = |files: &checkrein_engine::AttemptFiles| Ok((files.brief()?, files.result()?));
    let (brief, result) = asking.with_attempt(job.as_deref(), read).await?;
    Told::json(&Listed {
        job: &brief.job,
        phase: &brief.phase,
        todos: todos(&brief, &result),
        next_todos: result.get("next_todos").cloned().unwrap_or_else(|| Value::Array(Vec::new())),
        replan: brief.replan.as_deref(),
    })
}

/// The todos with what was handed in as done.
pub fn todos(brief: &BriefJson, result: &Value) -> Vec<Todo> {
    let done = result.get("todos_done").and_then(Value::as_array);
    let is_done = |todo: &Todo| {
        todo.done || done.is_some_and(|done| done.iter().any(|id| id.as_u64() == Some(todo.id.into())))
    };
    brief.todos.iter().map(|todo| Todo { done: is_done(todo), ..todo.clone() }).collect()
}
