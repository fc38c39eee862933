//! `skip_steps`: inherited steps that are left out.

use super::resolve::Written;
use crate::config::{Step, Workflow};
use crate::document::{Problems, closest, listed};

/// The steps that no nearer file wants left out. A file's own steps are not inherited and stay.
pub(super) fn without_skipped<'c>(
    phase: &str,
    chain: &'c [Workflow],
    steps: Vec<Written<'c, Step>>,
) -> Vec<Written<'c, Step>> {
    let skipped = |step: &Written<'c, Step>| {
        let nearer = chain.iter().take_while(|workflow| !std::ptr::eq(*workflow, step.workflow));
        let id = step.item.label().unwrap_or_default();
        nearer.flat_map(|workflow| &workflow.file.skip_steps).any(|skip| names(skip, phase, id))
    };
    steps.into_iter().filter(|step| !skipped(step)).collect()
}

/// What is to be left out and is not there.
pub(super) fn unknown_skips(chain: &[Workflow]) -> Problems {
    let mut problems = Problems::default();
    for (index, workflow) in chain.iter().enumerate() {
        let inherited: Vec<(&str, &str)> = chain.iter().skip(index + 1).flat_map(ids).collect();
        for (number, skip) in workflow.file.skip_steps.iter().enumerate() {
            if inherited.iter().any(|(phase, id)| names(skip, phase, id)) {
                continue;
            }
            let full: Vec<String> = inherited.iter().map(|(phase, id)| format!("{phase}:{id}")).collect();
            let short = inherited.iter().map(|(_, id)| *id);
            let known = || full.iter().map(String::as_str);
            let own = ids(workflow).any(|(phase, id)| names(skip, phase, id));
            let hint = match closest(skip, known().chain(short)) {
                _ if own => "it is a step of this file: take it out there".to_owned(),
                Some(near) => format!("did you mean `{near}`?"),
                None if full.is_empty() => "this file inherits no steps".to_owned(),
                None => format!("inherited steps: {}", listed(known())),
            };
            let path = ["skip_steps", &number.to_string()];
            let message = format!("there is no inherited step `{skip}` to leave out");
            problems.push(workflow.document.problem(workflow.unknown(), &path, message).hint(hint));
        }
    }
    problems
}

/// `build:lint` is one step, `lint` the step of that id in every phase.
fn names(skip: &str, phase: &str, id: &str) -> bool {
    let rest = skip.strip_prefix(phase).and_then(|rest| rest.strip_prefix(':'));
    skip == id || rest == Some(id)
}

fn ids(workflow: &Workflow) -> impl Iterator<Item = (&str, &str)> {
    let phases = workflow.file.phases.iter();
    phases.flat_map(|(name, phase)| {
        phase.all_steps().filter_map(move |(_, _, step)| Some((name.as_str(), step.label()?)))
    })
}
