//! The coding programs people have: how each is called without a person at its terminal, what it needs, and
//! how its output is read.

mod aider;
mod claude;
mod codex;
mod command;
mod doctor;
mod gemini;
mod opencode;
mod record;
mod run;
mod stream;
mod trouble;

use std::path::{Path, PathBuf};
use std::time::Instant;

use checkrein_core::activity::Did;
use checkrein_core::config::agent::{AgentKind, AgentOutput, AgentSpec};
use checkrein_core::config::env;
use serde_json::{Value, json};

use crate::task::AgentTask;
use stream::Stream;
use trouble::Trouble;

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

    /// What is new elsewhere than in the output; asked again and again while it works.
    fn look(&mut self) -> Vec<Did> {
        Vec::new()
    }

    /// The output is over: what is still to be told of it.
    fn end(&mut self) -> Vec<Did> {
        Vec::new()
    }

    /// Reads a line of what it complains about.
    fn complain(&mut self, _line: &str) {}

    /// Since when it only asks its model again, and what it was told last.
    fn stuck(&self) -> Option<(Instant, &str)> {
        None
    }

    /// What the whole came to, where the program says that it went wrong.
    fn trouble(&self) -> Option<Trouble> {
        None
    }

    /// Whether the program shows by now that the limits it was given are in force.
    fn limits(&self) -> Limits {
        Limits::InForce
    }

    /// Whether it would wait for somebody who is not there.
    fn is_hopeless(&self) -> bool {
        false
    }

    /// What its model said, of a program that keeps that apart from the rest.
    fn said(&self) -> Option<String> {
        None
    }

    /// Whether the output is for people, so that its end says how it went.
    fn is_text(&self) -> bool {
        false
    }
}

/// What a program shows of the limits it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Limits {
    InForce,
    /// It says how it works, and has not said so yet.
    Unknown,
    /// It works without one of them; this is what it says.
    Broken(String),
}

/// How the output of an agent is read that goes on with this session.
pub(crate) fn reader(task: &AgentTask, session: Option<&str>) -> Box<dyn Reader> {
    let spec = &task.spec;
    let output = match &spec.kind {
        AgentKind::Claude => {
            return Box::new(Stream::new(&spec.name, claude::Messages::of(task, session)));
        }
        AgentKind::Codex => return Box::new(Stream::new(&spec.name, codex::Items::of(task, session))),
        AgentKind::Opencode => return Box::new(Stream::new(&spec.name, opencode::Parts::of(task))),
        AgentKind::Gemini => return Box::new(Stream::new(&spec.name, gemini::Pieces::of(task))),
        AgentKind::Aider => return Box::new(aider::Lines::new(&spec.name, &task.home)),
        AgentKind::Builtin(_) => AgentOutput::Text,
        AgentKind::Command { output, .. } => *output,
    };
    match output {
        AgentOutput::Claude => Box::new(Stream::new(&spec.name, claude::Messages::default())),
        AgentOutput::Codex => Box::new(Stream::new(&spec.name, codex::Items::default())),
        AgentOutput::Opencode => Box::new(Stream::new(&spec.name, opencode::Parts::default())),
        AgentOutput::Gemini => Box::new(Stream::new(&spec.name, gemini::Pieces::default())),
        AgentOutput::Text => Box::new(command::Text::new(&spec.name)),
    }
}

/// Whether it goes on with a session when it is called again.
pub(crate) fn continues(spec: &AgentSpec) -> bool {
    !matches!(spec.kind, AgentKind::Command { .. } | AgentKind::Builtin(_))
}

/// Whether it has the tools of `checkrein mcp`.
pub(crate) fn has_tools(spec: &AgentSpec) -> bool {
    !matches!(spec.kind, AgentKind::Aider | AgentKind::Command { .. })
}

/// What the model of an attempt hands in and looks up with.
pub const TOOLS_OF_JOB: [&str; 9] = [
    "todo_list",
    "todo_complete",
    "next_phase_todos",
    "request_replan",
    "job_complete",
    "report_response",
    "get_review",
    "get_comments",
    "reply_comment",
];
pub const TOOLS_OF_STEP: [&str; 1] = ["report_response"];

/// The tools of `checkrein mcp` in this attempt.
pub fn tools(task: &AgentTask) -> &'static [&'static str] {
    if task.is_job() { &TOOLS_OF_JOB } else { &TOOLS_OF_STEP }
}

/// Where its user or a repository may have switched our tools off.
pub(crate) const fn settings_with_tools(kind: &AgentKind) -> &'static str {
    match kind {
        AgentKind::Claude => "`permissions` in `.claude/settings.json`",
        AgentKind::Codex => "`mcp_servers` in its `config.toml`",
        AgentKind::Opencode => "`mcp`, `tools` or `permission` in `opencode.json`",
        AgentKind::Gemini => "`mcp.excluded` or `mcpServers` in `.gemini/settings.json`",
        AgentKind::Aider | AgentKind::Command { .. } | AgentKind::Builtin(_) => "its settings",
    }
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

/// Whether a program always has a home of its own: Gemini CLI takes settings from nowhere else, unless they are root's.
pub fn has_own_home(spec: &AgentSpec) -> bool {
    matches!(spec.kind, AgentKind::Gemini)
}

/// Files of the user's login that a program needs where its home is another one: below the home, and where below its
/// own place.
pub fn credentials(spec: &AgentSpec) -> &'static [(&'static str, &'static str)] {
    match spec.kind {
        AgentKind::Claude => claude::CREDENTIALS,
        AgentKind::Codex => codex::CREDENTIALS,
        AgentKind::Opencode => opencode::CREDENTIALS,
        AgentKind::Gemini => gemini::CREDENTIALS,
        AgentKind::Aider => aider::CREDENTIALS,
        AgentKind::Command { .. } | AgentKind::Builtin(_) => &[],
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

/// What `checkrein mcp` is started with by the program.
pub(crate) fn attempt_object(task: &AgentTask) -> Value {
    let listed = (env::TOOLS_LISTED.to_owned(), path(&tools_listed(task)));
    let variables = attempt_variables().into_iter().chain([listed]);
    variables.map(|(name, value)| (name, Value::String(value))).collect()
}

/// The file that is there once the program has asked for our tools.
pub(crate) fn tools_listed(task: &AgentTask) -> PathBuf {
    task.home.join("tools-listed")
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
    json!({"command": path(&task.checkrein), "args": ["mcp"], "env": attempt_object(task)})
}

/// Ours win; what a person has beside them stays.
pub(crate) fn lay_over(settings: &mut Value, ours: Value) {
    match (settings, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (name, value) in ours {
                lay_over(theirs.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(theirs), Value::Array(ours)) => theirs.extend(ours),
        (settings, ours) => *settings = ours,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use checkrein_core::boundary::PhaseKind;
    use checkrein_core::config::agent::{AgentFindings, Permissions};

    use super::*;

    pub(crate) fn task(
        kind: AgentKind,
        level: &str,
        sandboxed: bool,
        permissions: Option<Permissions>,
    ) -> AgentTask {
        let spec = AgentSpec {
            name: "mine".to_owned(),
            kind,
            args: vec!["--more".to_owned()],
            program: None,
            strategic: Some("large".to_owned()),
            tactical: Some("small".to_owned()),
            environment: Vec::new(),
            permissions,
            findings: AgentFindings::default(),
        };
        AgentTask { level: level.to_owned(), sandboxed, ..task_of(spec) }
    }

    pub(crate) fn task_of(spec: AgentSpec) -> AgentTask {
        AgentTask {
            spec,
            brief: PathBuf::from("/brief.md"),
            kind: Some(PhaseKind::Tactical),
            level: "guided".to_owned(),
            sandboxed: false,
            session: None,
            cost_left: Some(0.5),
            messages: None,
            requests: None,
            home: PathBuf::from("/home-of-agent"),
            checkrein: PathBuf::from("/bin/checkrein"),
            datasources: Vec::new(),
            own_files: String::new(),
        }
    }

    /// Everything a program is started with, in one text.
    fn started(task: &AgentTask, session: Option<&str>) -> String {
        let call = invocation(task, &Prompt { text: "the brief", session });
        let env = call.env.iter().map(|(name, value)| format!("{name}={value}"));
        let files = call.files.iter().map(|(path, text)| format!("{}: {text}", path.display()));
        let parts = [call.program, call.args.join(" "), call.stdin].into_iter().chain(env).chain(files);
        parts.collect::<Vec<_>>().join("\n")
    }

    const FREE: Option<Permissions> = Some(Permissions::All);
    const KEPT: Option<Permissions> = Some(Permissions::Workspace);

    #[test]
    fn what_each_may_do_follows_from_the_level_and_the_sandbox() {
        use AgentKind::{Claude, Codex, Gemini, Opencode};
        let claude_free = "--dangerously-skip-permissions";
        let codex_free = "sandbox_workspace_write.network_access=true";
        let codex_open = "--dangerously-bypass-approvals-and-sandbox";
        let opencode_free = r#""webfetch":"allow""#;
        let gemini_kept = "google_web_search";
        for (kind, level, sandboxed, permissions, words, there) in [
            (Claude, "guided", false, None, claude_free, false),
            (Claude, "guided", false, None, "--permission-mode acceptEdits", true),
            (Claude, "guided", false, None, "--disallowedTools WebFetch,WebSearch", true),
            (Claude, "full", false, None, claude_free, true),
            (Claude, "guided", true, None, claude_free, true),
            (Claude, "guided", true, None, "CLAUDE_CONFIG_DIR=/home-of-agent", true),
            (Claude, "guided", false, None, "--max-budget-usd 0.500001", true),
            (Claude, "guided", false, None, r#""alwaysLoad":true"#, true),
            (Claude, "guided", true, None, r#"--settings {"sandbox":{"enabled":false}}"#, true),
            (Claude, "full", false, None, "--settings", false),
            (Claude, "guided", false, FREE, claude_free, true),
            (Claude, "full", false, KEPT, claude_free, false),
            (Codex, "guided", false, None, "sandbox_mode=\"workspace-write\"", true),
            (Codex, "guided", false, None, codex_free, false),
            (Codex, "guided", false, None, "--add-dir", true),
            (Codex, "guided", false, None, "web_search=\"disabled\"", true),
            (Codex, "full", false, None, "web_search", false),
            (Codex, "guided", true, None, "--add-dir", false),
            (Codex, "full", false, None, codex_free, true),
            (Codex, "full", false, None, codex_open, false),
            (Codex, "guided", true, None, codex_open, true),
            (Opencode, "guided", false, None, opencode_free, false),
            (Opencode, "full", false, None, opencode_free, true),
            (Opencode, "full", false, None, r#""external_directory":"deny""#, true),
            (Opencode, "guided", true, None, r#""external_directory":"allow""#, true),
            (Gemini, "guided", false, None, gemini_kept, true),
            (Gemini, "full", false, None, gemini_kept, false),
            (Gemini, "full", false, None, "mcpName = \"checkrein\"\ndecision = \"allow\"", true),
            (
                Gemini,
                "guided",
                false,
                None,
                "toolName = [\"web_fetch\", \"google_web_search\"]\ndecision = \"deny\"",
                true,
            ),
            (Codex, "full", true, None, "mcp_servers.checkrein.enabled=true", true),
            (
                Codex,
                "guided",
                false,
                None,
                "mcp_servers.checkrein.enabled_tools=[\"todo_list\",\"todo_complete\",",
                true,
            ),
            (Codex, "guided", false, None, "mcp_servers.checkrein.disabled_tools=[]", true),
            (Opencode, "full", false, None, r#""checkrein_*":"allow","checkrein_**":"allow""#, true),
            (Opencode, "guided", false, None, r#""agent":{"build":{"permission":{"#, true),
            (Opencode, "guided", false, None, r#""default_agent":"build""#, true),
            (Gemini, "guided", false, None, "--admin-policy /home-of-agent/gemini-policy.toml", true),
            (Gemini, "guided", false, None, "/home-of-agent/.gemini/settings.json: ", true),
            (Gemini, "guided", false, None, "GEMINI_CLI_HOME=/home-of-agent", true),
            (Gemini, "guided", true, None, "GEMINI_CLI_HOME=/home-of-agent", true),
            (Gemini, "guided", true, None, "GEMINI_SANDBOX=false", true),
            (Gemini, "full", false, None, "GEMINI_SANDBOX", false),
        ] {
            let task = task(kind, level, sandboxed, permissions);
            let call = started(&task, None);
            assert_eq!(call.contains(words), there, "{level} {sandboxed} {words}: {call}");
        }
    }

    #[test]
    fn each_has_its_prompt_its_model_its_tools_and_its_session() {
        use AgentKind::{Aider, Claude, Codex, Gemini, Opencode};
        for (kind, resumed) in [
            (Claude, "--resume s1"),
            (Codex, " resume --json"),
            (Opencode, "--session s1"),
            (Gemini, "--resume s1"),
            (Aider, "--restore-chat-history"),
        ] {
            let task = task(kind, "guided", false, None);
            let (anew, again) = (started(&task, None), started(&task, Some("s1")));
            assert!(!anew.contains(resumed) && again.contains(resumed), "{resumed}: {anew}");
            for words in ["the brief", "--model small", "--more"] {
                assert!(anew.contains(words), "{words}: {anew}");
            }
            let has_server = anew.contains("/bin/checkrein") && anew.contains("mcp");
            assert_eq!(has_server, has_tools(&task.spec), "{anew}");
        }
    }
}
