//! Hooks as tasks around a phase.

use std::collections::HashSet;
use std::time::Duration;

use super::resolve::{Placed, Shared, Written};
use super::step::{said, use_skill};
use super::{Action, Task, Timing};
use crate::config::{Hook, HookKind, Workflow};
use crate::decision::{Handling, OnFailure, StepOrHook};
use crate::document::{Gravity, Problems};

/// A hook is meant to be short; one that hangs must not hold up the run for ever (W21).
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);

/// The hooks before or after a phase, in the order they run.
pub(super) fn hooks_of(
    timing: Timing,
    phase: &str,
    chain: &[Workflow],
    shared: &Shared,
    problems: &mut Problems,
) -> Vec<Placed> {
    let hooks = written(timing, phase, chain);
    let mut names: HashSet<String> =
        hooks.iter().filter_map(|hook| said(&hook.item.name)).map(str::to_owned).collect();
    let mut tasks = Vec::new();
    for (index, hook) in hooks.iter().enumerate() {
        let name = match said(&hook.item.name) {
            Some(name) => name.to_owned(),
            None => free_name(derived_name(hook.item, index), &mut names),
        };
        let action = match action(hook) {
            Ok(action) => action,
            Err(wrong) => {
                problems.extend(wrong);
                continue;
            }
        };
        let Hook { description, timeout, idle_timeout, env, working_directory, .. } = hook.item;
        tasks.push(hook.placed(Task {
            id: format!("hook:{timing}-{phase}-{name}"),
            name,
            kind: StepOrHook::Hook,
            timing: Some(timing),
            description: description.clone(),
            action,
            arguments: Default::default(),
            env: shared.env_with(env),
            working_directory: working_directory.clone().or_else(|| shared.working_directory.clone()),
            timeout: Some(timeout.map_or(TIMEOUT_DEFAULT, |written| written.0)),
            idle_timeout: idle_timeout.map(|written| written.0),
            // It runs where the run is: what it needs, the phase's steps need as well.
            requires: Vec::new(),
            handling: handling(hook, shared, problems),
        }));
    }
    tasks
}

fn written<'c>(timing: Timing, phase: &str, chain: &'c [Workflow]) -> Vec<Written<'c, Hook>> {
    let key = format!("{timing}_{phase}");
    let of = |workflow: &'c Workflow| {
        let hooks = workflow.file.hooks.get(&key).into_iter().flatten().enumerate();
        let written = hooks.map(|(index, item)| Written {
            workflow,
            path: vec!["hooks".to_owned(), key.clone(), index.to_string()],
            item,
        });
        written.collect::<Vec<_>>()
    };
    match timing {
        Timing::Pre => chain.iter().rev().flat_map(of).collect(),
        Timing::Post => chain.iter().flat_map(of).collect(),
    }
}

/// What a hook without a name is called: its file or skill, else its number.
fn derived_name(hook: &Hook, index: usize) -> String {
    let file = said(&hook.path).and_then(|path| path.rsplit(['/', '\\']).find(|part| !part.is_empty()));
    let stem = file.map(|file| match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => file,
    });
    stem.or(said(&hook.skill)).map_or_else(|| format!("hook-{}", index + 1), str::to_owned)
}

/// Nobody chose this name, so it makes way for others.
fn free_name(wanted: String, taken: &mut HashSet<String>) -> String {
    let numbered = (2..).map(|number: usize| format!("{wanted}-{number}"));
    let free = std::iter::once(wanted.clone()).chain(numbered).find(|name| !taken.contains(name));
    let name = free.unwrap_or(wanted);
    taken.insert(name.clone());
    name
}

fn action(written: &Written<'_, Hook>) -> Result<Action, Problems> {
    let hook = written.item;
    let (run, path, skill) = (said(&hook.run), said(&hook.path), said(&hook.skill));
    let error = |message: String, hint: &str| {
        Err(Problems::from(written.problem(Gravity::Error, &[], message).hint(hint)))
    };
    if run.is_some() && (path.is_some() || skill.is_some()) {
        let other = if path.is_some() { "path" } else { "skill" };
        return error(format!("a hook says both `run` and `{other}`"), "make two hooks of it");
    }
    match (run, hook.kind, path, skill) {
        (Some(command), _, _, _) => Ok(Action::Shell(command.to_owned())),
        (None, Some(HookKind::Document), Some(path), _) => Ok(Action::Document(path.to_owned())),
        (None, Some(HookKind::Script) | None, Some(path), _) => Ok(Action::Script(path.to_owned())),
        (None, Some(HookKind::Skill) | None, _, Some(skill)) => {
            Ok(Action::Agent(use_skill(skill, said(&hook.description))))
        }
        (None, Some(HookKind::Skill), _, None) => {
            error("a hook of type `skill` names no skill".to_owned(), "give it a `skill`")
        }
        (None, Some(HookKind::Document), None, _) => {
            error("a hook of type `document` names no file".to_owned(), "give it a `path`")
        }
        (None, Some(HookKind::Script), None, _) => {
            error("a hook of type `script` names no file".to_owned(), "give it a `path`, or a `run` command")
        }
        (None, None, None, None) => {
            error("a hook says nothing to do".to_owned(), "give it a `run` command or the `path` of a script")
        }
    }
}

/// What the hook itself says, then its older `on_error`; for warnings, then the workflow. The workflow's
/// `on_failure` is about steps, which always stop, so it never lets a hook go on.
fn handling(written: &Written<'_, Hook>, shared: &Shared, problems: &mut Problems) -> Handling {
    let hook = written.item;
    let on_error = said(&hook.on_error).and_then(|word| match word.trim().to_ascii_lowercase().as_str() {
        "continue" | "warn" => Some(OnFailure::Continue),
        "stop" | "fail" | "abort" => Some(OnFailure::Stop),
        _ => {
            let gravity = written.workflow.unknown();
            let stops = if gravity == Gravity::Error { "" } else { ", the hook's failure stops the run" };
            let problem = written.problem(gravity, &["on_error"], format!("unknown value `{word}`{stops}"));
            problems.push(problem.hint("write `continue` or `stop`"));
            None
        }
    });
    let older = Handling { on_failure: on_error, on_warning: shared.handling.on_warning };
    hook.result_handling.or(older)
}
