//! A task with its placeholders filled: what is handed to whoever performs it.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::placeholder::{Context, Unfilled, fill_text, is_name, names_in_text};
use super::shell::{fill_shell, names_in_shell};
use super::{Action, Plan, Task};

/// What to do, with which variables, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilledTask {
    pub action: Action,
    pub arguments: IndexMap<String, String>,
    /// The task's own variables, then `CHECKREIN_ARG_NAME` for each argument and `CHECKREIN_VALUE_NAME`
    /// for what a shell command refers to.
    pub env: IndexMap<String, String>,
    pub working_directory: Option<String>,
}

impl Task {
    /// Fills arguments from the context, and everything else from both; an argument is stronger. The path
    /// of a script or document is taken as it stands.
    pub fn fill(&self, context: &Context) -> Result<FilledTask, Unfilled> {
        let mut arguments = IndexMap::new();
        for (name, text) in &self.arguments {
            let value =
                fill_text(text, context).map_err(|error| error.within(&format!("argument `{name}`")))?;
            arguments.insert(name.clone(), value);
        }
        let mut values = context.clone();
        values.extend(arguments.clone());

        let mut env = IndexMap::new();
        for (name, text) in &self.env {
            let value =
                fill_text(text, &values).map_err(|error| error.within(&format!("variable `{name}`")))?;
            env.insert(name.clone(), value);
        }
        env.extend(arguments.iter().map(|(name, value)| (argument_variable(name), value.clone())));

        let directory = self.working_directory.as_ref().map(|text| fill_text(text, &values)).transpose();
        let working_directory = directory.map_err(|error| error.within("`working_directory`"))?;

        let action = match &self.action {
            Action::Shell(command) => {
                let (command, variables) = fill_shell(command, &values)?;
                env.extend(variables);
                Action::Shell(command)
            }
            Action::Agent(prompt) => Action::Agent(with_arguments(fill_text(prompt, &values)?, &arguments)),
            Action::Script(path) => Action::Script(path.clone()),
            Action::Document(path) => Action::Document(path.clone()),
        };
        Ok(FilledTask { action, arguments, env, working_directory })
    }
}

impl Plan {
    /// The names that tasks fill from what their run knows.
    pub fn placeholders(&self) -> BTreeSet<String> {
        self.phases.iter().flat_map(|phase| &phase.tasks).flat_map(Task::placeholders).collect()
    }

    /// Whether a value of this name reaches any task. A script gets them all.
    pub fn takes_value(&self, name: &str) -> bool {
        let mut tasks = self.phases.iter().flat_map(|phase| &phase.tasks);
        let to_script = tasks.any(|task| matches!(task.action, Action::Script(_)));
        self.placeholders().contains(name) || (to_script && is_name(name))
    }
}

impl Task {
    fn placeholders(&self) -> BTreeSet<String> {
        let in_texts = self.env.values().chain(&self.working_directory).flat_map(|text| names_in_text(text));
        let in_action = match &self.action {
            Action::Shell(command) => names_in_shell(command),
            Action::Agent(prompt) => names_in_text(prompt),
            Action::Script(_) | Action::Document(_) => Vec::new(),
        };
        // An argument is stronger than what the run knows.
        let beside = in_texts.chain(in_action).filter(|name| !self.arguments.contains_key(name));
        beside.chain(self.arguments.values().flat_map(|text| names_in_text(text))).collect()
    }
}

impl Task {
    /// What cannot be filled in it, each name once, before anything runs: what only an attempt knows is no matter here.
    pub fn unfilled(&self, given: &Context) -> Vec<Unfilled> {
        let of_attempts = ["run_id", "workflow_id", "phase", "step", "attempt", "failure"];
        let known = of_attempts.map(|name| (name.to_owned(), String::new()));
        let mut context: Context = given.clone().into_iter().chain(known).collect();
        let mut all: Vec<Unfilled> = Vec::new();
        while let Err(unfilled) = self.fill(&context) {
            let met = all.iter().any(|other| other.name == unfilled.name) || !unfilled.is_missing();
            context.insert(unfilled.name.clone(), String::new());
            all.push(unfilled);
            // Another value would not help.
            if met {
                break;
            }
        }
        all
    }
}

impl Unfilled {
    fn within(self, place: &str) -> Unfilled {
        Unfilled { message: format!("{place}: {}", self.message), ..self }
    }
}

fn argument_variable(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("CHECKREIN_ARG_{}", name.chars().map(plain).collect::<String>())
}

/// An agent reads its arguments, where a command finds them in variables.
fn with_arguments(prompt: String, arguments: &IndexMap<String, String>) -> String {
    if arguments.is_empty() {
        return prompt;
    }
    let lines = arguments.iter().map(|(name, value)| format!("- {name}: {}", value.replace('\n', "\n  ")));
    format!("{prompt}\n\nArguments:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
