//! Claude Code: `claude -p`, a stream of JSON.

use std::path::Path;

use checkrein_core::activity::Did;
use checkrein_core::config::agent::Permissions;
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::record::{directories, directory_of};
use super::stream::{Events, Heard, called};
use super::trouble::{Source, Trouble};
use super::{Invocation, Limits, Prompt, number, path, program, raw, stdio_server, text, words};
use crate::tail::LineTail;
use crate::task::AgentTask;

pub const VARIABLES: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_RETRIES",
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "IS_SANDBOX",
];

pub const CREDENTIALS: &[(&str, &str)] =
    &[(".claude/.credentials.json", ".credentials.json"), (".claude/settings.json", "settings.json")];

/// What it may use without asking where it may not do everything.
const ALLOWED: &str =
    "Bash,Edit,MultiEdit,Write,NotebookEdit,Read,Glob,Grep,LS,TodoWrite,Task,mcp__checkrein";
const FORBIDDEN: &str = "WebFetch,WebSearch";

pub fn invocation(task: &AgentTask, prompt: &Prompt<'_>) -> Invocation {
    let mut server = stdio_server(task);
    if let Some(fields) = server.as_object_mut() {
        // Otherwise the model has to search for our tools before it can call them.
        fields.insert("alwaysLoad".to_owned(), json!(true));
    }
    let servers = json!({"mcpServers": {"checkrein": server}}).to_string();
    let mut args: Vec<String> = [
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
        "--strict-mcp-config",
        "--mcp-config",
    ]
    .map(str::to_owned)
    .to_vec();
    args.push(servers);
    let mut env = vec![("DISABLE_AUTOUPDATER".to_owned(), "1".to_owned())];
    match task.permissions() {
        Permissions::All => {
            args.push("--dangerously-skip-permissions".to_owned());
            // As root it refuses to, unless it is told that it is kept in.
            env.push(("IS_SANDBOX".to_owned(), "1".to_owned()));
        }
        Permissions::Workspace => args.extend(
            ["--permission-mode", "acceptEdits", "--allowedTools", ALLOWED, "--disallowedTools", FORBIDDEN]
                .map(str::to_owned),
        ),
    }
    if let Some(model) = task.spec.model(task.kind) {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    if let Some(session) = prompt.session {
        args.extend(["--resume".to_owned(), session.to_owned()]);
    }
    if let Some(left) = task.cost_left {
        // It says what it cost when it ends, so it watches over that itself. The least bit more than is left is as much
        // as the budget allows, however both are rounded.
        args.extend(["--max-budget-usd".to_owned(), format!("{:.6}", left + 0.000_001)]);
    }
    if task.sandboxed {
        env.push(("CLAUDE_CONFIG_DIR".to_owned(), path(&task.home)));
        // Its own sandbox needs namespaces, which ours refuses.
        args.extend(["--settings".to_owned(), json!({"sandbox": {"enabled": false}}).to_string()]);
    }
    args.extend(task.spec.args.iter().cloned());
    Invocation {
        program: program(&task.spec, "claude"),
        args,
        env,
        stdin: prompt.text.to_owned(),
        files: Vec::new(),
    }
}

#[derive(Default)]
pub struct Messages {
    /// Tokens of each message of the model, by kind; the same one is told several times, and grows.
    tokens: IndexMap<String, [u64; 4]>,
    /// The message that is being written, by the call of the subagent that writes it.
    written: IndexMap<String, String>,
    /// What the session had cost when it was last left; the program counts on from there.
    cost_before: f64,
    /// What its permissions have to be; a person's own arguments may say otherwise.
    permissions: Option<Permissions>,
    /// Our tools, which its model has to have; none for a program that only writes like it.
    tools: &'static [&'static str],
    limits: Option<Limits>,
}

impl Messages {
    pub fn of(task: &AgentTask, session: Option<&str>) -> Messages {
        let projects = directory_of(task, "CLAUDE_CONFIG_DIR", ".claude").join("projects");
        let record = |session: &str| {
            let file = format!("{session}.jsonl");
            directories(&projects).map(|project| project.join(&file)).find(|path| path.is_file())
        };
        let cost_before = session.and_then(record).and_then(|path| cost_of(&path)).unwrap_or(0.0);
        let own = task.spec.args.iter().any(|argument| argument.contains("permission"));
        let permissions = (!own).then(|| task.permissions());
        Messages { cost_before, permissions, tools: super::tools(task), ..Messages::default() }
    }

    /// Counts what a message used; tells it where that is more than is known.
    fn count(&mut self, id: &str, usage: &Value) -> Option<Did> {
        let known = self.total();
        let counts = self.tokens.entry(id.to_owned()).or_default();
        for (count, name) in counts.iter_mut().zip(COUNTED) {
            *count = (*count).max(number(usage, name));
        }
        let tokens = self.total();
        (tokens > known).then_some(Did::Used { tokens, cost: None })
    }

    /// Whether what it begins with is what it was told.
    fn begins_with(&self, init: &Value) -> Limits {
        let (mode, expected) =
            (text(init, "permissionMode"), self.permissions.map(mode_of).unwrap_or_default());
        if self.tools.is_empty() {
            return Limits::InForce;
        }
        let Some(tools) = init.get("tools").and_then(Value::as_array) else { return Limits::Unknown };
        let tools: Vec<&str> = tools.iter().filter_map(Value::as_str).collect();
        let ours = |tool: &str| tools.iter().any(|name| name.strip_prefix("mcp__checkrein__") == Some(tool));
        let missing: Vec<&str> = self.tools.iter().copied().filter(|tool| !ours(tool)).collect();
        if !missing.is_empty() {
            let missing = missing.join("`, `");
            return Limits::Broken(format!("its model is not offered the tools of Checkrein: `{missing}`"));
        }
        let web = tools.iter().find(|tool| FORBIDDEN.split(',').any(|name| name == **tool));
        match (self.permissions, web) {
            (None, _) => Limits::InForce,
            _ if mode.is_empty() => Limits::Unknown,
            _ if mode != expected => {
                Limits::Broken(format!("its permission mode is `{mode}` instead of `{expected}`"))
            }
            (Some(Permissions::Workspace), Some(tool)) => {
                Limits::Broken(format!("it has the tool `{tool}`, which it was told to do without"))
            }
            _ => Limits::InForce,
        }
    }

    fn total(&self) -> u64 {
        self.tokens.values().flatten().sum()
    }

    /// Words as they come: what they say comes again as a whole, what they use is counted here.
    fn partial(&mut self, event: &Value, by: &str) -> Option<Did> {
        match text(event, "type") {
            "message_start" => {
                let id = event.get("message").map(|message| text(message, "id")).unwrap_or_default();
                self.written.insert(by.to_owned(), id.to_owned());
                None
            }
            "message_delta" => {
                let id = self.written.get(by).cloned()?;
                self.count(&id, event.get("usage")?)
            }
            _ => None,
        }
    }
}

const fn mode_of(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::All => "bypassPermissions",
        Permissions::Workspace => "acceptEdits",
    }
}

/// What a session cost so far, by its record.
fn cost_of(path: &Path) -> Option<f64> {
    let lines = LineTail::of(path).new_lines();
    lines.iter().rev().filter(|line| line.contains("cost-state")).find_map(|line| {
        let state: Value = serde_json::from_str(line).ok()?;
        (text(&state, "type") == "cost-state").then(|| state.get("totalCostUSD")?.as_f64()).flatten()
    })
}

impl Events for Messages {
    fn read(&mut self, event: &Value, line: &str, heard: &mut Heard) -> Vec<Did> {
        let message = event.get("message").unwrap_or(&Value::Null);
        let parts = || message.get("content").and_then(Value::as_array).into_iter().flatten();
        match text(event, "type") {
            "system" if text(event, "subtype") == "init" => {
                self.limits = Some(self.begins_with(event));
                vec![heard.began(text(event, "model"), text(event, "session_id"))]
            }
            // Its model refused, and it tries again by itself, for minutes.
            "system" if text(event, "subtype") == "api_retry" => {
                let status =
                    event.get("error_status").map(|status| format!(" ({status})")).unwrap_or_default();
                let wait = event.get("retry_delay_ms").and_then(Value::as_f64).unwrap_or(0.0);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a time that is waited"
                )]
                let wait_ms = wait.max(0.0) as u64;
                vec![Did::Waited { why: format!("{}{status}", text(event, "error")), wait_ms }]
            }
            // What it says itself in the place of its model.
            "assistant" if event.get("is_api_error_message").and_then(Value::as_bool) == Some(true) => {
                raw(&words(message.get("content").unwrap_or(&Value::Null)))
            }
            "assistant" => {
                let mut did: Vec<Did> = parts().filter_map(said).collect();
                did.extend(message.get("usage").and_then(|usage| self.count(text(message, "id"), usage)));
                did
            }
            "user" => parts().filter_map(answered).collect(),
            "stream_event" => {
                let event_of_model = event.get("event").unwrap_or(&Value::Null);
                self.partial(event_of_model, text(event, "parent_tool_use_id")).into_iter().collect()
            }
            "result" => {
                let failed = event.get("is_error").and_then(Value::as_bool).unwrap_or(false)
                    || text(event, "subtype").starts_with("error");
                if failed {
                    let said = [text(event, "result"), text(event, "subtype")];
                    let said = said.into_iter().find(|said| !said.is_empty()).unwrap_or_default();
                    heard.trouble = Some(trouble(event, said));
                }
                let cost = event.get("total_cost_usd").and_then(Value::as_f64);
                // A counter that says less than before began anew.
                let since = |cost: f64| if cost < self.cost_before { cost } else { cost - self.cost_before };
                let tokens = event.get("usage").map_or(0, tokens).max(self.total());
                vec![Did::Used { tokens, cost: cost.map(since) }]
            }
            // Beginnings of hooks, rate limits that are not reached: nothing an audit needs in words.
            "system" | "rate_limit_event" => Vec::new(),
            _ => raw(line),
        }
    }

    fn limits(&self) -> Limits {
        match (&self.limits, self.tools) {
            (Some(limits), _) => limits.clone(),
            (None, []) => Limits::InForce,
            (None, _) => Limits::Unknown,
        }
    }
}

/// Without a status a request to its model that failed had no answer.
fn trouble(event: &Value, said: &str) -> Trouble {
    let status = event.get("api_error_status").and_then(Value::as_u64);
    let told = Trouble::with_status(said, status.and_then(|status| u16::try_from(status).ok()));
    match told.source {
        Source::Program if text(event, "terminal_reason") == "api_error" => {
            Trouble { source: Source::Disconnected, ..told }
        }
        _ => told,
    }
}
const COUNTED: [&str; 4] =
    ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];

fn tokens(usage: &Value) -> u64 {
    COUNTED.iter().map(|name| number(usage, name)).sum()
}

fn said(part: &Value) -> Option<Did> {
    match text(part, "type") {
        "text" => Some(Did::Said { text: text(part, "text").to_owned() }),
        "thinking" => Some(Did::Thought { text: text(part, "thinking").to_owned() }),
        "tool_use" => Some(called(text(part, "id"), text(part, "name"), part.get("input"), "Bash")),
        _ => None,
    }
}

fn answered(part: &Value) -> Option<Did> {
    (text(part, "type") == "tool_result").then(|| Did::Answered {
        id: text(part, "tool_use_id").to_owned(),
        text: words(part.get("content").unwrap_or(&Value::Null)),
        failed: part.get("is_error").and_then(Value::as_bool).unwrap_or(false),
    })
}
