use checkrein_core::run::job::HandIn;
use checkrein_engine::{Act, AttemptFiles};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::asking::Asking;
use super::super::tool::{Needs, Told, Tool};
use super::HandedIn;
use super::todo_list::todos;
use crate::ask::Json;
use crate::error::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Done {
    /// The id of the todo
    id: u32,
    /// The job; inside its attempt it is known
    job: Option<String>,
}

pub fn tool() -> Tool {
    Tool::new(
        "todo_complete",
        "Mark a todo of this phase as done, right after you did and committed it. As soon as you mark one, those you \
         do not mark count as not done.",
        Act::HandIn,
        complete,
    )
    .needs(Needs::Phase)
}

async fn complete(asking: Asking, Json(Done { id, job }): Json<Done>) -> Result<Told, Problem> {
    let hand_in = move |files: &AttemptFiles| Ok((files.hand_in(HandIn::TodoDone(id))?, files.brief()?));
    let (result, brief) = asking.with_attempt(job.as_deref(), hand_in).await?;
    let todos = todos(&brief, &result);
    let left: Vec<String> = todos.iter().filter(|todo| !todo.done).map(|todo| todo.id.to_string()).collect();
    let content =
        todos.iter().find(|todo| todo.id == id).map(|todo| todo.content.clone()).unwrap_or_default();
    let commit =
        format!("commit it if you have not, as `todo {id}: {}`", content.lines().next().unwrap_or_default());
    let next = match left.as_slice() {
        [] => format!("{commit}; all todos are done: say how it went with report_response, and end"),
        left => format!("{commit}; left: {}", left.join(", ")),
    };
    Told::json(&HandedIn { result, next })
}
