//! The files a phase leaves about itself, on its branch before anybody looks (L8).

use checkrein_core::boundary::PhaseKind;
use checkrein_core::run::Run;
use checkrein_core::run::job::{AgentOutcome, JobPhase, Stage, TodoList, Work, brief};
use checkrein_forge::{Branch, Oid};

use super::repository::JobRepository;
use crate::EngineError;

/// Whose `todos.yaml` is on the branch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Todos {
    Own,
    /// Somebody pushed it while the agent worked: it stays as it is.
    Pushed,
}

/// Writes what is missing or not true any more; the head afterwards.
pub(super) fn write(
    repository: &JobRepository,
    run: &Run,
    branch: &Branch,
    head: &Oid,
    work: &Work,
    todos_of: Todos,
    at: i64,
) -> Result<Oid, EngineError> {
    let Some((definition, job)) = run.job() else { return Ok(head.clone()) };
    let own = |name: &str| definition.repository.artefact(name);
    let phase = JobPhase { work: Some(Box::new(work.clone())), ..job.phase.clone() };
    let result = &work.result;
    let mut files = Vec::new();
    let workspace = own("workspace.md");
    let known = repository.text(head, &workspace).unwrap_or_else(|| brief::first_workspace(run));
    files.push((workspace, Some(brief::with_level(&known, run))));
    match (phase.attempt_kind(), result.outcome) {
        (PhaseKind::Strategic, AgentOutcome::PhaseDone | AgentOutcome::JobComplete) => {
            if !result.next_todos.is_empty() && phase.stage == Stage::Work && todos_of == Todos::Own {
                let todos = brief::todo_list(&phase, &result.next_todos);
                let as_it_is =
                    repository.text(head, &own("todos.yaml")).and_then(|text| TodoList::read(&text).ok());
                if as_it_is.is_none_or(|list| list.todos != todos.todos) {
                    files.push((own("todos.yaml"), Some(todos.write())));
                }
            }
            if repository.text(head, &own("plan.md")).is_none() && result.outcome == AgentOutcome::PhaseDone {
                files.push((own("plan.md"), Some(plan(work))));
            }
        }
        (PhaseKind::Tactical, AgentOutcome::PhaseDone | AgentOutcome::JobComplete) => {
            let done = JobPhase { todos: phase.todos_after(result), ..phase.clone() };
            let list = TodoList { phase: phase.name(), description: None, todos: done.todos.clone() };
            files.push((own(&format!("archive/{}-todos.yaml", phase.name())), Some(list.write())));
            if todos_of == Todos::Own && repository.text(head, &own("todos.yaml")).is_some() {
                files.push((own("todos.yaml"), None));
            }
            let path = own(&format!("archive/{}-retrospective.md", phase.name()));
            // What the agent wrote itself is better.
            let ours = repository.text(head, &path).is_none_or(|text| text.starts_with("# Phase "));
            if ours {
                files.push((path, Some(brief::retrospective(&done))));
            }
        }
        _ => {}
    }
    Ok(repository.write(branch, head, &files, "checkrein: what the phase leaves\n", at)?)
}

/// The plan of an agent that wrote none.
fn plan(work: &Work) -> String {
    let mut out = String::from("# Plan\n\n");
    if !work.result.summary.is_empty() {
        out.push_str(&format!("{}\n\n", work.result.summary.trim_end()));
    }
    for todo in &work.result.next_todos {
        out.push_str(&format!("{}. {}\n", todo.id, todo.content.trim()));
    }
    out
}

/// Files that are the engine's own record: they say nothing about whether a round changed anything.
pub(super) fn is_record(own: &str, path: &str) -> bool {
    path.strip_prefix(own).is_some_and(|name| {
        name == "feedback.md" || name.starts_with("archive/") || name.starts_with("tools/")
    })
}
