//! Agents as settings name them: a preset, or a command of one's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::ModelShape;
use super::settings::Settings;
use crate::boundary::PhaseKind;
use crate::document::{Document, Gravity, Problem, Problems, closest, listed};

/// An agent under a name of your own, or what is to be different about a preset of that name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "agent")]
pub struct AgentShape {
    /// The preset it is; if absent, the one with its name.
    pub preset: Option<Preset>,
    /// A command of your own, for `sh -c`; its prompt is on standard input. `{brief}` is the file the prompt is in,
    /// `{model}` the model.
    pub command: Option<String>,
    /// How the output of `command` is read: as text, or as what one of the presets writes.
    pub output: Option<AgentOutput>,
    /// Where the program of a preset is, if not on the PATH.
    pub program: Option<String>,
    /// Further arguments for the program of a preset.
    pub args: Vec<String>,
    /// The model, by the name its program knows; for `builtin` a name in `models`.
    pub model: Option<String>,
    /// The model by the kind of phase, where that makes a difference.
    pub models: PhaseModels,
    /// Variables that are handed to it beside those it always needs.
    pub environment: Vec<String>,
    /// What it may do by its own rules: `all`, or `workspace` for changing files and running commands
    /// where it works. By default `all` in the sandbox and at level `full`, else `workspace`.
    pub permissions: Option<Permissions>,
    /// Whether commands that failed become findings.
    pub findings: AgentFindings,
    /// `builtin`: how often it may ask its model in one attempt. 200 by default.
    pub turns_max: Option<u32>,
    /// `builtin`: how long one command may take, in seconds. 600 by default.
    pub command_timeout_s: Option<u64>,
    /// `builtin`: which commands it may run.
    pub commands: CommandLimits,
}

impl AgentShape {
    /// The same with what a project says on top, of what a project may say.
    pub(super) fn with(self, project: AgentShape) -> AgentShape {
        AgentShape {
            preset: project.preset.or(self.preset),
            model: project.model.or(self.model),
            models: PhaseModels {
                strategic: project.models.strategic.or(self.models.strategic),
                tactical: project.models.tactical.or(self.models.tactical),
            },
            findings: match project.findings == AgentFindings::default() {
                true => self.findings,
                false => project.findings,
            },
            turns_max: project.turns_max.or(self.turns_max),
            command_timeout_s: project.command_timeout_s.or(self.command_timeout_s),
            ..self
        }
    }
}

/// A model for each kind of phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PhaseModels {
    /// Where it plans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategic: Option<String>,
    /// Where it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tactical: Option<String>,
}

/// Commands as patterns, in which `*` stands for anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CommandLimits {
    /// The only ones that may be run; all, if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Those that may not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

/// Whether one of these patterns stands for a command. Slashes are characters like all others.
pub fn stands_for(patterns: &[String], command: &str) -> bool {
    let flat = |text: &str| text.replace('/', "\u{1}");
    let command = flat(command);
    patterns.iter().any(|pattern| fast_glob::glob_match(flat(pattern), &command))
}

/// The single commands of a line for the shell.
pub fn single_commands(line: &str) -> impl Iterator<Item = &str> {
    line.split(['\n', ';', '|', '&']).map(str::trim).filter(|part| !part.is_empty())
}

/// Whether commands that failed, the last time they were run in an attempt, become findings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentFindings {
    pub failed_commands: FailedCommands,
    /// Patterns of the commands that count, such as `cargo test*`, alone or as part of a longer line; all, if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailedCommands {
    #[default]
    Ignore,
    Warning,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    All,
    Workspace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Aider,
    /// Checkrein's own, on the API of a model.
    Builtin,
}

/// How an agent's output is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentOutput {
    #[default]
    Text,
    Claude,
    Codex,
    Opencode,
    Gemini,
}

impl Preset {
    pub const ALL: [Preset; 6] =
        [Preset::Claude, Preset::Codex, Preset::Opencode, Preset::Gemini, Preset::Aider, Preset::Builtin];

    pub const fn name(self) -> &'static str {
        match self {
            Preset::Claude => "claude",
            Preset::Codex => "codex",
            Preset::Opencode => "opencode",
            Preset::Gemini => "gemini",
            Preset::Aider => "aider",
            Preset::Builtin => "builtin",
        }
    }

    /// What installs its program, in a shell.
    pub const fn install(self) -> &'static str {
        match self {
            Preset::Claude => "npm install -g @anthropic-ai/claude-code",
            Preset::Codex => "npm install -g @openai/codex",
            Preset::Opencode => "npm install -g opencode-ai",
            Preset::Gemini => "npm install -g @google/gemini-cli",
            Preset::Aider => "pip install aider-chat",
            Preset::Builtin => "",
        }
    }

    pub fn of(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }
}

/// An agent with everything about it resolved, as a run keeps it. Nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    pub name: String,
    pub kind: AgentKind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Where it plans, and in steps of a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tactical: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    #[serde(default)]
    pub findings: AgentFindings,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Aider,
    Builtin(Box<BuiltinSpec>),
    Command { command: String, output: AgentOutput },
}

/// What the built-in agent needs beside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BuiltinSpec {
    pub strategic: ModelShape,
    pub tactical: ModelShape,
    pub turns_max: u32,
    pub command_timeout_s: u64,
    #[serde(default)]
    pub commands: CommandLimits,
}

const TURNS_MAX: u32 = 200;
const COMMAND_TIMEOUT_S: u64 = 600;

impl AgentSpec {
    /// The model for a kind of phase.
    pub fn model(&self, kind: Option<PhaseKind>) -> Option<&str> {
        match kind {
            Some(PhaseKind::Tactical) => self.tactical.as_deref(),
            Some(PhaseKind::Strategic) | None => self.strategic.as_deref(),
        }
    }
}

impl BuiltinSpec {
    /// A step of a workflow works.
    pub const fn model(&self, kind: Option<PhaseKind>) -> &ModelShape {
        match kind {
            Some(PhaseKind::Strategic) => &self.strategic,
            Some(PhaseKind::Tactical) | None => &self.tactical,
        }
    }
}

/// What is wrong with the text that says who does the work: an empty command ends at once, and did nothing.
pub(super) fn empty_agent(document: &Document, path: &[&str], text: Option<&String>) -> Problems {
    let is_empty = |text: &&String| {
        let text = text.trim();
        text.strip_prefix("cmd:").unwrap_or(text).trim().is_empty()
    };
    if text.filter(is_empty).is_none() {
        return Problems::default();
    }
    let problem = document.problem(Gravity::Error, path, "an agent has a name, found nothing");
    problem.hint("name an agent or a command, such as `claude`, or leave it out").into()
}

impl Settings {
    /// The agent a text names: one of the settings, or a preset. None where it is a command, as anything else is.
    pub fn agent_named(&self, text: &str) -> Result<Option<AgentSpec>, Box<Problem>> {
        let name = text.trim();
        let own = self.agent_shape(name);
        let preset = own.as_ref().and_then(|own| own.preset).or_else(|| Preset::of(name));
        let shape = match (own, preset) {
            (None, None) => return Ok(None),
            (own, _) => own.unwrap_or_default(),
        };
        let refuse = |message: String| Problem::error(format!("agents.{name}"), message);
        let kind = match (preset, &shape.command) {
            (_, Some(command)) => {
                AgentKind::Command { command: command.clone(), output: shape.output.unwrap_or_default() }
            }
            (None, None) => {
                let presets = listed(Preset::ALL.map(Preset::name));
                let problem = refuse("it has neither a `preset` nor a `command`".to_owned());
                return Err(Box::new(problem.hint(format!("presets are {presets}"))));
            }
            (Some(Preset::Claude), None) => AgentKind::Claude,
            (Some(Preset::Codex), None) => AgentKind::Codex,
            (Some(Preset::Opencode), None) => AgentKind::Opencode,
            (Some(Preset::Gemini), None) => AgentKind::Gemini,
            (Some(Preset::Aider), None) => AgentKind::Aider,
            (Some(Preset::Builtin), None) => AgentKind::Builtin(Box::new(self.builtin(name, &shape)?)),
        };
        let model = |own: &Option<String>| own.clone().or_else(|| shape.model.clone());
        Ok(Some(AgentSpec {
            name: name.to_owned(),
            kind,
            strategic: model(&shape.models.strategic),
            tactical: model(&shape.models.tactical),
            args: shape.args,
            program: shape.program,
            environment: shape.environment,
            permissions: shape.permissions,
            findings: shape.findings,
        }))
    }

    /// Refuses what a project calls an agent and nobody here knows: the text would be a command of the project's.
    pub fn known_agent(&self, document: &Document, name: &str) -> Result<(), Problems> {
        if self.agent_shape(name.trim()).is_some() || Preset::of(name.trim()).is_some() {
            return Ok(());
        }
        let known: Vec<&str> = Preset::ALL.map(Preset::name).into_iter().chain(self.agents()).collect();
        let message = format!("a project names an agent you know, not a command: `{name}`");
        let hint = match closest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "agents are {}; a command of your own belongs into `agents` of your own settings, see docs/configuration.md#whose-settings",
                listed(known)
            ),
        };
        Err(document.problem(Gravity::Error, &["agent"], message).hint(hint).into())
    }

    /// What is wrong with a word that names no agent and no program either.
    pub fn no_such_agent(&self, word: &str) -> Problem {
        if let Some(preset) = Preset::of(word) {
            let message = format!("there is no command `{word}`");
            let hint = format!(
                "`{}` installs it; `--agent {word}` then calls it as a job needs it",
                preset.install()
            );
            return Problem::error("agent", message).hint(hint);
        }
        let known: Vec<&str> = Preset::ALL.map(Preset::name).into_iter().chain(self.agents()).collect();
        let message = format!("there is no agent `{word}`, and no such command either");
        let hint = match closest(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "agents are {}; a command of your own can be anything that runs, such as `cmd:./agent.sh`",
                listed(known)
            ),
        };
        Problem::error("agent", message).hint(hint)
    }

    fn builtin(&self, name: &str, shape: &AgentShape) -> Result<BuiltinSpec, Box<Problem>> {
        let known = || self.models();
        let model = |own: &Option<String>| {
            let only = known().first().filter(|_| known().len() == 1).map(|name| (*name).to_owned());
            let wanted = own.clone().or_else(|| shape.model.clone()).or(only);
            let place = format!("agents.{name}");
            let Some(wanted) = wanted else {
                let message = "the built-in agent needs a model, and none is named";
                let hint = "in your own settings: `models: {main: {api: anthropic, model: NAME}}`, and `agents: {builtin: {model: main}}`";
                return Err(Box::new(Problem::error(place, message).hint(hint)));
            };
            self.model(&wanted).cloned().ok_or_else(|| {
                let hint = match closest(&wanted, known()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if known().is_empty() => "name it in `models:` of your own settings".to_owned(),
                    None => format!("known models: {}", listed(known())),
                };
                Box::new(Problem::error(place, format!("there is no model `{wanted}`")).hint(hint))
            })
        };
        Ok(BuiltinSpec {
            strategic: model(&shape.models.strategic)?,
            tactical: model(&shape.models.tactical)?,
            turns_max: shape.turns_max.unwrap_or(TURNS_MAX).max(1),
            command_timeout_s: shape.command_timeout_s.unwrap_or(COMMAND_TIMEOUT_S).max(1),
            commands: shape.commands.clone(),
        })
    }
}
