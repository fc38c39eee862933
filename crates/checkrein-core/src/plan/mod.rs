//! A workflow made ready to run: what it extends is in it, and every task knows what it does, where,
//! for how long, and how its findings are handled. A run keeps its plan for life.

mod fill;
mod hook;
mod placeholder;
mod resolve;
mod shell;
mod skip;
mod step;
mod unique;

use std::fmt;
use std::time::Duration;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::config::agent::AgentSpec;
use crate::decision::{Handling, StepOrHook};
use crate::label::Label;
pub use fill::FilledTask;
pub use placeholder::{Context, Unfilled, fill_text};
pub use shell::fill_shell;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The workflow's id, or the name of its file.
    pub workflow: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The command that performs what is left to an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What that is, where it names an agent and is not a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_spec: Option<Box<AgentSpec>>,
    /// Names of variables whose values are never shown or recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// What a worker must have to go on with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Label>,
    /// In the order they run; disabled ones are kept to be shown as skipped.
    pub phases: Vec<PlannedPhase>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedPhase {
    pub name: String,
    pub enabled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How often its errors may send the run back to `build`.
    pub max_retries: u32,
    /// Hooks before, pre-steps, steps, post-steps, hooks after: in the order they run.
    pub tasks: Vec<Task>,
}

/// A step or a hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// `build:implement`, or `hook:pre-build-lint` (W12).
    pub id: String,
    /// The step's id or the hook's name alone.
    pub name: String,
    pub kind: StepOrHook,
    /// When a hook runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub action: Action,
    /// Values with placeholders, filled when the task starts.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub arguments: IndexMap<String, String>,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// Wall time.
    #[serde(default, with = "crate::duration::text", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Time without output.
    #[serde(default, with = "crate::duration::text", skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Duration>,
    /// What a worker must have for it, beside what the whole plan requires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Label>,
    /// Of the step, its phase or its workflow, whichever says something first.
    #[serde(default)]
    pub handling: Handling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Timing {
    Pre,
    Post,
}

/// As ids and the keys of hooks write it.
impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Timing::Pre => "pre",
            Timing::Post => "post",
        })
    }
}

/// Placeholders in a command or prompt are filled when the task starts; a path is taken as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// For `sh -c`.
    Shell(String),
    /// For the configured agent.
    Agent(String),
    /// A program that gets the file with the run's context as its first argument.
    Script(String),
    /// A text that is handed to the agent with every prompt of the phase.
    Document(String),
}

impl Plan {
    pub fn phase(&self, name: &str) -> Option<(usize, &PlannedPhase)> {
        self.phases.iter().enumerate().find(|(_, phase)| phase.name == name)
    }

    pub fn task(&self, phase: usize, task: usize) -> Option<&Task> {
        self.phases.get(phase)?.tasks.get(task)
    }
}

#[cfg(test)]
mod fill_tests;
#[cfg(test)]
mod tests;
