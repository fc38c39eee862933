//! What the shape of a workflow file alone cannot tell.

use super::{Phase, Step, Workflow};
use crate::config::agent::empty_agent;
use crate::config::idle::no_variables;
use crate::decision::{Handling, StepOrHook};
use crate::document::{self, Gravity, Problems};
use crate::policy::Autonomy;

impl Workflow {
    /// What can be said about this file alone. An older file's steps may say what to do in words of its own.
    pub(super) fn check(&self) -> Problems {
        let mut problems = Problems::default();
        self.check_handling(&[], self.file.result_handling, &mut problems);
        problems.extend(no_variables(&self.document, &["secrets"], &self.file.secrets));
        problems.extend(empty_agent(&self.document, &["agent"], self.file.agent.as_ref()));
        for (name, phase) in &self.file.phases {
            self.check_handling(&["phases", name], phase.result_handling, &mut problems);
            self.check_phase(name, phase, &mut problems);
        }
        self.check_hook_paths(&mut problems);
        problems
    }

    /// What this file says about phases that are not among `phases`.
    pub(crate) fn unknown_phases(&self, phases: &[&str]) -> Problems {
        let mut problems = Problems::default();
        let mut say = |path: &[&str], message: String, hint: String| {
            problems.push(self.document.problem(self.unknown(), path, message).hint(hint));
        };
        for key in self.file.hooks.keys() {
            let phase = key.strip_prefix("pre_").or_else(|| key.strip_prefix("post_"));
            if phase.is_some_and(|phase| phases.contains(&phase)) {
                continue;
            }
            let keys: Vec<String> =
                phases.iter().flat_map(|phase| [format!("pre_{phase}"), format!("post_{phase}")]).collect();
            let message = match phase {
                Some(phase) => format!("there is no phase `{phase}`, its hooks never run"),
                None => format!("`{key}` is neither before nor after a phase, its hooks never run"),
            };
            let hint = match document::closest(key, keys.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "hooks are keyed `pre_PHASE` or `post_PHASE`".to_owned(),
            };
            say(&["hooks", key], message, hint);
        }
        let Some(Autonomy::Long(block)) = &self.file.autonomy else { return problems };
        for (path, phase) in block.phases_named() {
            if !phases.contains(&phase) {
                let whose = if self.file.extends.is_none() { "of this file" } else { "here" };
                let hint = match document::closest(phase, phases.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("phases {whose}: {}", document::listed(phases.iter().copied())),
                };
                let path: Vec<&str> =
                    ["autonomy"].into_iter().chain(path.iter().map(String::as_str)).collect();
                say(&path, format!("there is no phase `{phase}`"), hint);
            }
        }
        problems
    }

    fn check_phase(&self, name: &str, phase: &Phase, problems: &mut Problems) {
        let mut ids: Vec<&str> = Vec::new();
        for (list, index, step) in phase.all_steps() {
            let index = index.to_string();
            let path = ["phases", name, list, index.as_str()];
            let error = |message: String| self.document.problem(Gravity::Error, &path, message);
            match step.label() {
                Some(id) if ids.contains(&id) => {
                    problems.push(error(format!("step id `{id}` is used twice in phase `{name}`")));
                }
                Some(id) => ids.push(id),
                None => problems.push(error("a step has no id".to_owned()).hint("give it an `id`")),
            }
            if !self.older && !step.does_something() {
                let hint = "give it a `run` command or an `agent` prompt";
                problems.push(error("a step says nothing to do".to_owned()).hint(hint));
            }
            self.check_words(&path, step, problems);
            self.check_handling(&path, step.result_handling, problems);
        }
    }

    /// A step does one thing.
    fn check_words(&self, path: &[&str], step: &Step, problems: &mut Problems) {
        let word = match (&step.run, &step.agent) {
            (None, None) => return,
            (Some(_), Some(_)) => {
                let message = "a step says both `run` and `agent`";
                let hint = "make two steps of it";
                problems.push(self.document.problem(Gravity::Error, path, message).hint(hint));
                return;
            }
            (Some(_), None) => "run",
            (None, Some(_)) => "agent",
        };
        let older = [("prompt", &step.prompt), ("command", &step.command), ("skill", &step.skill)];
        for (ignored, _) in older.iter().filter(|(_, said)| said.is_some()) {
            let path: Vec<&str> = path.iter().chain([ignored]).copied().collect();
            let message = format!("`{ignored}` has no effect: the step says `{word}`");
            problems.push(self.document.problem(self.unknown(), &path, message));
        }
    }

    fn check_handling(&self, path: &[&str], handling: Handling, problems: &mut Problems) {
        if let Some(ignored) = handling.ignored(StepOrHook::Step) {
            let path: Vec<&str> = path.iter().copied().chain(["result_handling", "on_failure"]).collect();
            problems.push(self.document.problem(Gravity::Warning, &path, ignored));
        }
    }

    fn check_hook_paths(&self, problems: &mut Problems) {
        for (key, hooks) in &self.file.hooks {
            for (index, hook) in hooks.iter().enumerate() {
                let outside = |path: &&String| path.split(['/', '\\']).any(|part| part == "..");
                if let Some(path) = hook.path.as_ref().filter(outside) {
                    let index = index.to_string();
                    let message = format!("`{path}` leads out of the repository: `..` is refused");
                    let path = ["hooks", key.as_str(), index.as_str(), "path"];
                    problems.push(self.document.problem(Gravity::Error, &path, message));
                }
            }
        }
    }
}
