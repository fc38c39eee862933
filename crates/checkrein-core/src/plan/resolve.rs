//! From workflow files to a plan: what a chain of files comes to, phase by phase (W17).

use indexmap::{IndexMap, IndexSet};

use super::hook::hooks_of;
use super::skip::{unknown_skips, without_skipped};
use super::step::step_task;
use super::unique::repeated_ids;
use super::{Plan, PlannedPhase, Task, Timing};
use crate::config::{Phase, Step, Workflow};
use crate::decision::{Handling, StepOrHook};
use crate::document::{Gravity, Problem, Problems};
use crate::label::Label;

impl Plan {
    /// The plan of `chain`, nearest first: the workflow to run, what it extends, and so on to the root.
    ///
    /// Where several say something, the nearest wins. Pre-steps and pre-hooks run from the root to the
    /// nearest, post-steps and post-hooks back, so that an inherited wrapper stays a wrapper. Steps
    /// themselves are those of the nearest file that has any. Phases keep the root's order; new ones follow.
    pub fn resolve(chain: &[Workflow]) -> Result<(Plan, Problems), Problems> {
        let Some(nearest) = chain.first() else {
            return Err(Problem::error("workflow", "there is nothing to run").into());
        };
        let mut problems = Workflow::check_chain(chain);
        if problems.has_errors() {
            return Err(problems);
        }
        let shared = Shared::of(chain);
        let names: IndexSet<&str> = chain.iter().rev().flat_map(Workflow::phase_names).collect();
        let known: Vec<&str> = names.iter().copied().collect();
        // Of one that stands alone it was said where it was read.
        for workflow in chain.iter().filter(|_| chain.len() > 1) {
            problems.extend(workflow.unknown_phases(&known));
        }
        problems.extend(unknown_skips(chain));
        problems.extend(unusable_variables(chain));

        let mut phases = Vec::new();
        let mut tasks = Vec::new();
        for name in known {
            let (phase, own) = phase_of(name, chain, &shared, &mut problems);
            phases.push(phase);
            tasks.push(own);
        }
        let named = phases.iter().map(|phase| phase.name.as_str()).zip(tasks.iter().map(Vec::as_slice));
        problems.extend(repeated_ids(chain, named));
        let steps = tasks.iter().flatten().any(|placed| placed.task.kind == StepOrHook::Step);
        if !steps && !problems.has_errors() {
            let missing = if phases.is_empty() { "has no phases" } else { "has no steps" };
            let message = format!("there is nothing to run: the workflow {missing}");
            let hint = "give a phase in `phases` some `steps`";
            problems.push(nearest.document.problem(Gravity::Error, &["phases"], message).hint(hint));
        }
        for (phase, own) in phases.iter_mut().zip(tasks) {
            phase.tasks = own.into_iter().map(|placed| placed.task).collect();
        }
        let said = |of: fn(&Workflow) -> Option<&String>| chain.iter().find_map(of).cloned();
        let secrets: IndexSet<String> =
            chain.iter().rev().flat_map(|workflow| workflow.file.secrets.iter().cloned()).collect();
        let requires: IndexSet<Label> =
            chain.iter().rev().flat_map(|workflow| workflow.file.requires.iter().cloned()).collect();
        problems.refuse_or(Plan {
            workflow: nearest.title().to_owned(),
            description: said(|workflow| workflow.file.description.as_ref()),
            agent: said(|workflow| workflow.file.agent.as_ref()),
            agent_spec: None,
            secrets: secrets.into_iter().collect(),
            requires: requires.into_iter().collect(),
            phases,
        })
    }
}

/// What holds for every task, unless it or its phase says otherwise.
pub(super) struct Shared {
    pub(super) env: IndexMap<String, String>,
    pub(super) working_directory: Option<String>,
    pub(super) handling: Handling,
}

impl Shared {
    fn of(chain: &[Workflow]) -> Shared {
        let mut env = IndexMap::new();
        for workflow in chain.iter().rev() {
            env.extend(workflow.file.env.clone());
        }
        let nearest = |weaker: Handling, workflow: &Workflow| workflow.file.result_handling.or(weaker);
        Shared {
            env,
            working_directory: chain.iter().find_map(|workflow| workflow.file.working_directory.clone()),
            handling: chain.iter().rev().fold(Handling::default(), nearest),
        }
    }

    pub(super) fn env_with(&self, own: &IndexMap<String, String>) -> IndexMap<String, String> {
        let mut env = self.env.clone();
        env.extend(own.clone());
        env
    }
}

/// A step or hook in its file.
pub(super) struct Written<'c, T> {
    pub(super) workflow: &'c Workflow,
    /// The way to it in the document.
    pub(super) path: Vec<String>,
    pub(super) item: &'c T,
}

impl<T> Written<'_, T> {
    pub(super) fn problem(&self, gravity: Gravity, key: &[&str], message: impl Into<String>) -> Problem {
        let path: Vec<&str> = self.path.iter().map(String::as_str).chain(key.iter().copied()).collect();
        self.workflow.document.problem(gravity, &path, message)
    }

    pub(super) fn placed(&self, task: Task) -> Placed {
        Placed { task, complaint: self.problem(Gravity::Error, &[], "") }
    }
}

/// A task and where it comes from.
pub(super) struct Placed {
    pub(super) task: Task,
    /// A complaint that points there, still without words.
    pub(super) complaint: Problem,
}

fn phase_of(
    name: &str,
    chain: &[Workflow],
    shared: &Shared,
    problems: &mut Problems,
) -> (PlannedPhase, Vec<Placed>) {
    let own: Vec<(&Workflow, &Phase)> =
        chain.iter().filter_map(|workflow| Some((workflow, workflow.file.phases.get(name)?))).collect();
    let nearest = |weaker: Handling, (_, phase): &(&Workflow, &Phase)| phase.result_handling.or(weaker);
    let handling = own.iter().rev().fold(Handling::default(), nearest).or(shared.handling);

    let mut tasks = hooks_of(Timing::Pre, name, chain, shared, problems);
    for step in without_skipped(name, chain, steps_of(name, &own)) {
        match step_task(name, &step, handling, shared) {
            Ok(task) => tasks.push(step.placed(task)),
            Err(wrong) => problems.extend(wrong),
        }
    }
    tasks.extend(hooks_of(Timing::Post, name, chain, shared, problems));

    let max_retries_default = if name == "evaluate" { 3 } else { 0 };
    let phase = PlannedPhase {
        name: name.to_owned(),
        enabled: own.iter().find_map(|(_, phase)| phase.enabled).unwrap_or(true),
        description: own.iter().find_map(|(_, phase)| phase.description.clone()),
        max_retries: own.iter().find_map(|(_, phase)| phase.max_retries).unwrap_or(max_retries_default),
        tasks: Vec::new(),
    };
    (phase, tasks)
}

/// All steps of a phase in the order they run.
fn steps_of<'c>(name: &str, own: &[(&'c Workflow, &'c Phase)]) -> Vec<Written<'c, Step>> {
    let list = |&(workflow, phase): &(&'c Workflow, &'c Phase), wanted: &str| {
        let steps = phase.all_steps().filter(|(list, _, _)| *list == wanted);
        let written = steps.map(|(list, index, item)| {
            let path = ["phases", name, list].map(str::to_owned).into_iter().chain([index.to_string()]);
            Written { workflow, path: path.collect(), item }
        });
        written.collect::<Vec<_>>()
    };
    let before = own.iter().rev().flat_map(|file| list(file, "pre_steps"));
    let defining = own.iter().find(|(_, phase)| !phase.steps.is_empty());
    let steps = defining.into_iter().flat_map(|file| list(file, "steps"));
    let after = own.iter().flat_map(|file| list(file, "post_steps"));
    before.chain(steps).chain(after).collect()
}

/// Names no process can have in its environment.
fn unusable_variables(chain: &[Workflow]) -> Problems {
    let mut problems = Problems::default();
    for workflow in chain {
        let file = &workflow.file;
        let steps = file.phases.values().flat_map(|phase| phase.all_steps().map(|(_, _, step)| &step.env));
        let hooks = file.hooks.values().flatten().map(|hook| &hook.env);
        for name in std::iter::once(&file.env).chain(steps).chain(hooks).flat_map(IndexMap::keys) {
            if name.is_empty() || name.contains(['=', '\0']) {
                let message = format!("`{}` cannot be the name of a variable", name.escape_default());
                let hint = "use letters, digits and `_`";
                problems.push(workflow.document.problem(Gravity::Error, &["env"], message).hint(hint));
            }
        }
    }
    problems
}
