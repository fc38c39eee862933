//! Every task of a plan has an id of its own (W12).

use std::collections::HashMap;

use super::resolve::Placed;
use super::{Task, Timing};
use crate::config::Workflow;
use crate::document::{Problem, Problems};

/// What is wrong with the ids of all tasks, phase by phase. A complaint points into the nearer file: that
/// is the one its writer is at.
pub(super) fn repeated_ids<'p>(
    chain: &[Workflow],
    phases: impl Iterator<Item = (&'p str, &'p [Placed])>,
) -> Problems {
    let distance =
        |placed: &Placed| chain.iter().position(|workflow| workflow.document.name == placed.complaint.source);
    let mut problems = Problems::default();
    let mut seen: HashMap<&str, (&str, &Placed)> = HashMap::new();
    for (phase, placed) in phases.flat_map(|(phase, own)| own.iter().map(move |placed| (phase, placed))) {
        let (first_phase, first) = *seen.entry(&placed.task.id).or_insert((phase, placed));
        if !std::ptr::eq(first, placed) {
            let phase = (phase == first_phase).then_some(phase);
            problems.push(match distance(first) < distance(placed) {
                true => repeated(first, placed, phase),
                false => repeated(placed, first, phase),
            });
        }
    }
    problems
}

/// `phase` is where both are, unless they are in different ones.
fn repeated(placed: &Placed, other: &Placed, phase: Option<&str>) -> Problem {
    let Task { id, name, timing, .. } = &placed.task;
    let message = match (phase.filter(|_| *timing == other.task.timing), timing) {
        (Some(phase), None) => format!("step id `{name}` is used twice in phase `{phase}`"),
        (Some(phase), Some(Timing::Pre)) => {
            format!("hook name `{name}` is used twice before phase `{phase}`")
        }
        (Some(phase), Some(Timing::Post)) => {
            format!("hook name `{name}` is used twice after phase `{phase}`")
        }
        (None, _) => format!("another step or hook would be called `{id}` too"),
    };
    let place = &other.complaint;
    let line = place.position.map_or(String::new(), |position| format!(":{}", position.line));
    let hint = match timing {
        None if place.source != placed.complaint.source => format!(
            "the other is in {}{line}: rename one, or leave the inherited one out with `skip_steps: [\"{id}\"]`",
            place.source
        ),
        _ => format!("the other is in {}{line}: rename one", place.source),
    };
    Problem { message, ..placed.complaint.clone() }.hint(hint)
}
