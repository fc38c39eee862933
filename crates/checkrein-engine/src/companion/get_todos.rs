use checkrein_core::principal::Principal;
use checkrein_core::run::job::Todo;
use checkrein_core::run::{Run, RunEvent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ReadTool, told};
use crate::authority::{Act, require};
use crate::job::{AttemptFiles, JobPlace};
use crate::{Engine, EngineError, RunView};

/// Which todos.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct TodosWanted {
    /// Only of this phase that is over: its name or its number
    pub phase: Option<String>,
}

/// What is to be done, what was done, and what was not.
#[derive(Clone, Debug, Serialize)]
pub struct Todos {
    /// The phase it is in; none before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    pub round: u32,
    /// Of this round, with what its agent has done so far.
    pub todos: Vec<Todo>,
    /// For the next phase that does something.
    pub next_todos: Vec<Todo>,
    /// What the phase before left undone.
    pub undone: Vec<Todo>,
    /// What each attempt that is over left, the oldest first.
    pub attempts: Vec<PhaseTodos>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseTodos {
    pub phase: String,
    pub round: u32,
    pub todos: Vec<Todo>,
}

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<TodosWanted>(
        "get_todos",
        "The todos of the job: of the phase under way with what is done of them, of the next one, and of every attempt \
         before.",
        |engine, by, job, wanted| Box::pin(async move { told(&engine.todos(by, job, &wanted).await?) }),
    )
}

impl Engine {
    pub async fn todos(&self, by: &Principal, job: &str, wanted: &TodosWanted) -> Result<Todos, EngineError> {
        require(by, Act::Read)?;
        let view = self.load_run(&self.seen_run(by, job).await?).await?;
        let Some((_, state)) = view.run.job() else { return Err(EngineError::NotAJob(view.run.id)) };
        let is_it = |phase: &str| {
            wanted.phase.as_deref().is_none_or(|wanted| crate::search::is_phase(wanted, Some(phase)))
        };
        Ok(Todos {
            phase: Some(&state.phase).filter(|phase| phase.number > 0).map(|phase| phase.name()),
            round: state.phase.round,
            todos: self.todos_now(&view),
            next_todos: state.staged.clone(),
            undone: state.undone.clone(),
            attempts: attempts(&view).into_iter().filter(|one| is_it(&one.phase)).collect(),
        })
    }

    /// The todos of the phase under way, with what its agent has handed in.
    pub(super) fn todos_now(&self, view: &RunView) -> Vec<Todo> {
        let Some((_, state)) = view.run.job() else { return Vec::new() };
        let handed_in = view.run.state.under_way.as_ref().and_then(|under_way| {
            let place = JobPlace::of(&self.store, &view.run.id);
            AttemptFiles::of(&place, under_way.start).result().ok()
        });
        let done = handed_in.as_ref().and_then(|result| result.get("todos_done")).and_then(Value::as_array);
        let is_done =
            |todo: &Todo| done.is_some_and(|done| done.iter().any(|id| id.as_u64() == Some(todo.id.into())));
        let todos = match (&state.phase.work, &view.run.state.under_way) {
            (Some(work), None) => state.phase.todos_after(&work.result),
            _ => state.phase.todos.clone(),
        };
        todos.into_iter().map(|todo| Todo { done: todo.done || is_done(&todo), ..todo }).collect()
    }
}

/// The todos every attempt began with, and what it did of them.
fn attempts(view: &RunView) -> Vec<PhaseTodos> {
    let mut found = Vec::new();
    let mut told: Option<Run> = None;
    for (_, at, event) in &view.history {
        let Some(run) = &mut told else {
            let definition = std::sync::Arc::clone(&view.run.definition);
            told = Run::told(view.run.id.clone(), definition, [(event.clone(), *at)]);
            continue;
        };
        if let (RunEvent::PhaseWorked(work), Some((_, job))) = (event, run.job()) {
            let (phase, round) = (job.phase.name(), job.phase.round);
            let todos = job.phase.todos_after(&work.result);
            found.push(PhaseTodos { phase, round, todos });
        }
        run.fold(event, *at);
    }
    found
}
