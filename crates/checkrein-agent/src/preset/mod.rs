//! The coding programs people have: how each is called without a person at its terminal, what it needs, and
//! how its output is read.

mod aider;
mod claude;
mod codex;
mod command;
mod doctor;
mod gemini;
mod opencode;
mod run;
mod stream;
mod trouble;

use std::path::{Path, PathBuf};

use checkrein_core::activity::Did;
use checkrein_core::config::agent::{AgentKind, AgentOutput, AgentSpec};
use serde_json::{Value, json};

use crate::task::AgentTask;
use stream::Stream;

pub use doctor::{Found, Health, doctor};
pub(crate) use run::run;

/// A program that is to be started.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Invocation {
    pub program: String,
    pub args: Vec<String>,
    /// Beside what it inherits.
    pub env: Vec<(String, String)>,
    pub stdin: String,
    /// Files it needs, and what is in them.
    pub files: Vec<(PathBuf, String)>,
}

/// What it is asked to do.
pub(crate) struct Prompt<'p> {
    pub text: &'p str,
    /// The session it goes on with.
    pub session: Option<&'p str>,
}

pub(crate) fn invocation(task: &AgentTask, prompt: &Prompt<'_>) -> Invocation {
    match &task.spec.kind {
        AgentKind::Claude => claude::invocation(task, prompt),
        AgentKind::Codex => codex::invocation(task, prompt),
        AgentKind::Opencode => opencode::invocation(task, prompt),
        AgentKind::Gemini => gemini::invocation(task, prompt),
        AgentKind::Aider => aider::invocation(task, prompt),
        AgentKind::Command { command, .. } => command::invocation(task, command, prompt),
        AgentKind::Builtin(_) => Invocation::default(),
    }
}

/// Reads a program's output line by line.
pub(crate) trait Reader: Send {
    fn read(&mut self, line: &str) -> Vec<Did>;

    /// What the whole came to, where the program says that it went wrong.
    fn trouble(&self) -> Option<String> {
        None
    }
}

pub(crate) fn reader(spec: &AgentSpec) -> Box<dyn Reader> {
    let output = match &spec.kind {
        AgentKind::Claude => AgentOutput::Claude,
        AgentKind::Codex => AgentOutput::Codex,
        AgentKind::Opencode => AgentOutput::Opencode,
        AgentKind::Gemini => AgentOutput::Gemini,
        AgentKind::Aider | AgentKind::Builtin(_) => AgentOutput::Text,
        AgentKind::Command { output, .. } => *output,
    };
    match output {
        AgentOutput::Claude => Box::new(Stream::new(&spec.name, claude::Messages::default())),
        AgentOutput::Codex => Box::new(Stream::new(&spec.name, codex::Items)),
        AgentOutput::Opencode => Box::new(Stream::new(&spec.name, opencode::Parts::default())),
        AgentOutput::Gemini => Box::new(Stream::new(&spec.name, gemini::Pieces::default())),
        AgentOutput::Text => Box::new(command::Text::new(&spec.name)),
    }
}

/// Whether it goes on with a session when it is called again.
pub(crate) fn continues(spec: &AgentSpec) -> bool {
    !matches!(spec.kind, AgentKind::Aider | AgentKind::Command { .. } | AgentKind::Builtin(_))
}

/// Whether it has the tools of `checkrein mcp`.
pub(crate) fn has_tools(spec: &AgentSpec) -> bool {
    !matches!(spec.kind, AgentKind::Aider | AgentKind::Command { .. })
}

/// The variables a program needs to reach its model, and to be told how: an agent gets no others.
pub fn variables(spec: &AgentSpec) -> Vec<String> {
    let own: &[&str] = match &spec.kind {
        AgentKind::Claude => claude::VARIABLES,
        AgentKind::Codex => codex::VARIABLES,
        AgentKind::Opencode => opencode::VARIABLES,
        AgentKind::Gemini => gemini::VARIABLES,
        AgentKind::Aider => aider::VARIABLES,
        AgentKind::Command { .. } => &[],
        AgentKind::Builtin(builtin) => {
            let models = [&builtin.strategic, &builtin.tactical];
            let of_models = models.into_iter().flat_map(|model| model.variables()).map(str::to_owned);
            return of_models.chain(spec.environment.iter().cloned()).collect();
        }
    };
    own.iter().map(|name| (*name).to_owned()).chain(spec.environment.iter().cloned()).collect()
}

/// Whether the value of a variable must not be shown.
pub fn is_secret(variable: &str) -> bool {
    ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| variable.to_ascii_uppercase().contains(word))
}

/// Files of the user's login that a program needs where its home is another one: below the home, and where below its
/// own place.
pub fn credentials(spec: &AgentSpec) -> &'static [(&'static str, &'static str)] {
    match spec.kind {
        AgentKind::Claude => claude::CREDENTIALS,
        AgentKind::Codex => codex::CREDENTIALS,
        AgentKind::Opencode => opencode::CREDENTIALS,
        AgentKind::Gemini => gemini::CREDENTIALS,
        AgentKind::Aider | AgentKind::Command { .. } | AgentKind::Builtin(_) => &[],
    }
}

/// The program of a preset, by the name it is installed under.
pub(crate) fn program(spec: &AgentSpec, name: &str) -> String {
    spec.program.clone().unwrap_or_else(|| name.to_owned())
}

/// `checkrein mcp` finds its attempt by these.
const ATTEMPT: [&str; 7] = [
    "CHECKREIN_JOB_ID",
    "CHECKREIN_RUN_ID",
    "CHECKREIN_BRIEF_JSON",
    "CHECKREIN_RESULT",
    "CHECKREIN_RESPONSE",
    "CHECKREIN_ATTEMPT",
    "PATH",
];

/// Those of them that are set.
pub(crate) fn attempt_variables() -> Vec<(String, String)> {
    let value = |name: &&str| std::env::var(name).ok().map(|value| ((*name).to_owned(), value));
    ATTEMPT.iter().filter_map(value).collect()
}

pub(crate) fn attempt_object() -> Value {
    attempt_variables().into_iter().map(|(name, value)| (name, Value::String(value))).collect()
}

pub(crate) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// The words of what a tool answered, which is a text or parts of which some are.
pub(crate) fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let words = parts.iter().map(|part| text(part, "text")).filter(|text| !text.is_empty());
            words.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A line that is no object of this program.
pub(crate) fn raw(line: &str) -> Vec<Did> {
    vec![Did::Raw { text: line.to_owned() }]
}

pub(crate) fn stdio_server(task: &AgentTask) -> Value {
    json!({"command": path(&task.checkrein), "args": ["mcp"], "env": attempt_object()})
}
