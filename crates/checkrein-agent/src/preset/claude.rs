//! Claude Code: `claude -p`, a stream of JSON.

use checkrein_core::activity::Did;
use checkrein_core::config::agent::Permissions;
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::stream::{Events, Heard, called};
use super::{Invocation, Prompt, number, path, program, raw, stdio_server, text, words};
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
    let servers = json!({"mcpServers": {"checkrein": stdio_server(task)}}).to_string();
    let mut args: Vec<String> =
        ["-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config", "--mcp-config"]
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
    if task.sandboxed {
        env.push(("CLAUDE_CONFIG_DIR".to_owned(), path(&task.home)));
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
    /// Tokens of each message of the model; the same one is told several times.
    tokens: IndexMap<String, u64>,
}

impl Events for Messages {
    fn read(&mut self, event: &Value, line: &str, heard: &mut Heard) -> Vec<Did> {
        let message = event.get("message").unwrap_or(&Value::Null);
        let parts = || message.get("content").and_then(Value::as_array).into_iter().flatten();
        match text(event, "type") {
            "system" if text(event, "subtype") == "init" => {
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
            "assistant" => {
                let mut did: Vec<Did> = parts().filter_map(said).collect();
                if let Some(usage) = message.get("usage") {
                    self.tokens.insert(text(message, "id").to_owned(), tokens(usage));
                    did.push(Did::Used { tokens: self.tokens.values().sum(), cost: None });
                }
                did
            }
            "user" => parts().filter_map(answered).collect(),
            "result" => {
                let failed = event.get("is_error").and_then(Value::as_bool).unwrap_or(false)
                    || text(event, "subtype").starts_with("error");
                if failed {
                    let said = [text(event, "result"), text(event, "subtype")];
                    heard.trouble = said.into_iter().find(|said| !said.is_empty()).map(str::to_owned);
                }
                let cost = event.get("total_cost_usd").and_then(Value::as_f64);
                let total = event.get("usage").map_or(0, tokens).max(self.tokens.values().sum());
                vec![Did::Used { tokens: total, cost }]
            }
            // Beginnings of hooks, rate limits that are not reached: nothing an audit needs in words.
            "system" | "rate_limit_event" => Vec::new(),
            _ => raw(line),
        }
    }
}

fn tokens(usage: &Value) -> u64 {
    ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
        .iter()
        .map(|name| number(usage, name))
        .sum()
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
