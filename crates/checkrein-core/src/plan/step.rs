//! A step as a task, in our words or those of an older system.

use super::placeholder::escape_text;
use super::resolve::{Shared, Written};
use super::shell::escape_shell;
use super::{Action, Task};
use crate::config::Step;
use crate::decision::{Handling, OnFailure, StepOrHook};
use crate::document::{Gravity, Problems};

/// `handling` is what the phase or the workflow says.
pub(super) fn step_task(
    phase: &str,
    written: &Written<'_, Step>,
    handling: Handling,
    shared: &Shared,
) -> Result<Task, Problems> {
    let step = written.item;
    let error =
        |message: &str, hint: &str| Problems::from(written.problem(Gravity::Error, &[], message).hint(hint));
    let name = step.label().ok_or_else(|| error("a step has no id", "give it an `id`"))?;
    let action = action(step)
        .ok_or_else(|| error("a step says nothing to do", "give it a `run` command or an `agent` prompt"))?;
    let handling = step.result_handling.or(handling);
    // A step's failure stops whatever was configured (W5), and the plan says what happens.
    let on_failure = handling.on_failure.filter(|on_failure| *on_failure != OnFailure::Continue);
    Ok(Task {
        id: format!("{phase}:{name}"),
        name: name.to_owned(),
        kind: StepOrHook::Step,
        timing: None,
        description: step.description.clone(),
        action,
        arguments: step.arguments.clone(),
        env: shared.env_with(&step.env),
        working_directory: step.working_directory.clone().or_else(|| shared.working_directory.clone()),
        timeout: step.timeout.map(|written| written.0),
        idle_timeout: step.idle_timeout.map(|written| written.0),
        requires: step.requires.clone(),
        handling: Handling { on_failure, ..handling },
    })
}

/// What a step does. In the words of an older system, braces mean themselves (W21).
fn action(step: &Step) -> Option<Action> {
    if let Some(command) = said(&step.run) {
        return Some(Action::Shell(command.to_owned()));
    }
    let prompt = match (said(&step.agent), said(&step.prompt), said(&step.command)) {
        (Some(prompt), _, _) => prompt.to_owned(),
        (None, Some(prompt), _) => match prompt.trim_start().strip_prefix('!') {
            Some(command) => return said_text(command).map(|text| Action::Shell(escape_shell(text.trim()))),
            None => escape_text(prompt),
        },
        (None, None, Some(command)) => escape_text(command),
        (None, None, None) => match (said(&step.skill), said(&step.description)) {
            (Some(skill), description) => use_skill(skill, description),
            (None, description) => escape_text(description?),
        },
    };
    Some(Action::Agent(match &step.config {
        Some(config) => format!("{prompt}\n\n{}", configuration(config)),
        None => prompt,
    }))
}

/// A prompt for an agent that knows skills by name.
pub(super) fn use_skill(skill: &str, description: Option<&str>) -> String {
    let text = match description {
        Some(description) => format!("Use the skill `{skill}`\n\n{description}"),
        None => format!("Use the skill `{skill}`"),
    };
    escape_text(&text)
}

/// `config` of a step as the agent reads it.
fn configuration(config: &serde_json::Value) -> String {
    // `{:#}` is the indented form; its braces mean themselves.
    escape_text(&format!("Configuration:\n```json\n{config:#}\n```"))
}

pub(super) fn said(text: &Option<String>) -> Option<&str> {
    text.as_deref().and_then(said_text)
}

/// A blank text says nothing.
fn said_text(text: &str) -> Option<&str> {
    (!text.trim().is_empty()).then_some(text)
}
