//! Codex: `codex exec --json`, threads, turns and items.

use checkrein_core::activity::Did;
use checkrein_core::config::agent::Permissions;
use serde_json::{Value, json};

use super::stream::{Events, Heard};
use super::{Invocation, Prompt, attempt_object, number, path, program, raw, text, words};
use crate::task::AgentTask;

pub const VARIABLES: &[&str] = &[
    "OPENAI_API_KEY",
    "CODEX_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_ORGANIZATION",
    "OPENAI_PROJECT",
    "CODEX_HOME",
    "AZURE_OPENAI_API_KEY",
    "RUST_LOG",
];

pub const CREDENTIALS: &[(&str, &str)] =
    &[(".codex/auth.json", "auth.json"), (".codex/config.toml", "config.toml")];

pub fn invocation(task: &AgentTask, prompt: &Prompt<'_>) -> Invocation {
    let mut args = vec!["exec".to_owned()];
    if prompt.session.is_some() {
        args.push("resume".to_owned());
    }
    args.extend(["--json", "--skip-git-repo-check"].map(str::to_owned));
    // Its own sandbox cannot be made inside ours, and is not needed there.
    match task.permissions() {
        _ if task.sandboxed => args.push("--dangerously-bypass-approvals-and-sandbox".to_owned()),
        Permissions::All => {
            args.extend(["-c", "sandbox_mode=\"workspace-write\""].map(str::to_owned));
            args.extend(["-c", "sandbox_workspace_write.network_access=true"].map(str::to_owned));
        }
        Permissions::Workspace => args.extend(["-c", "sandbox_mode=\"workspace-write\""].map(str::to_owned)),
    }
    let mut set =
        |name: &str, value: Value| args.extend(["-c".to_owned(), format!("{name}={}", toml(&value))]);
    set("approval_policy", json!("never"));
    set("mcp_servers.checkrein.command", json!(path(&task.checkrein)));
    set("mcp_servers.checkrein.args", json!(["mcp"]));
    set("mcp_servers.checkrein.env", attempt_object());
    if let Some(model) = task.spec.model(task.kind) {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args.extend(task.spec.args.iter().cloned());
    if let Some(session) = prompt.session {
        args.push(session.to_owned());
    }
    args.push("-".to_owned());
    let env = if task.sandboxed { vec![("CODEX_HOME".to_owned(), path(&task.home))] } else { Vec::new() };
    Invocation {
        program: program(&task.spec, "codex"),
        args,
        env,
        stdin: prompt.text.to_owned(),
        files: Vec::new(),
    }
}

/// JSON and TOML write texts and lists alike; tables differ.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}={}", toml(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

pub struct Items;

impl Events for Items {
    fn read(&mut self, event: &Value, line: &str, heard: &mut Heard) -> Vec<Did> {
        let item = event.get("item").unwrap_or(&Value::Null);
        match text(event, "type") {
            "thread.started" => vec![heard.began("", text(event, "thread_id"))],
            "turn.started" | "item.updated" => Vec::new(),
            "item.started" => begun(item).into_iter().collect(),
            "item.completed" => ended(item, line),
            "turn.completed" => {
                heard.trouble = None;
                let usage = event.get("usage").unwrap_or(&Value::Null);
                let tokens = number(usage, "input_tokens").saturating_add(number(usage, "output_tokens"));
                vec![Did::Used { tokens, cost: None }]
            }
            "turn.failed" => {
                let error = event.get("error").unwrap_or(&Value::Null);
                vec![heard.went_wrong("turn failed", text(error, "message"))]
            }
            "error" => vec![heard.went_wrong("error", text(event, "message"))],
            _ => raw(line),
        }
    }
}

fn begun(item: &Value) -> Option<Did> {
    let id = text(item, "id").to_owned();
    match text(item, "type") {
        "command_execution" => {
            let command = text(item, "command").to_owned();
            let input = json!({"command": command});
            Some(Did::Called { id, tool: "command".to_owned(), input, command: Some(plain(&command)) })
        }
        "mcp_tool_call" => Some(Did::Called {
            id,
            tool: format!("{}.{}", text(item, "server"), text(item, "tool")),
            input: item.get("arguments").cloned().unwrap_or_default(),
            command: None,
        }),
        _ => None,
    }
}

/// A command without the shell it is given to.
fn plain(command: &str) -> String {
    let rest = ["/bin/bash -lc ", "bash -lc ", "/bin/sh -c ", "sh -c "];
    let inner = rest.iter().find_map(|shell| command.strip_prefix(shell)).unwrap_or(command).trim();
    let unquoted = ['\'', '"'].iter().find_map(|quote| inner.strip_prefix(*quote)?.strip_suffix(*quote));
    unquoted.unwrap_or(inner).to_owned()
}

fn ended(item: &Value, line: &str) -> Vec<Did> {
    let id = text(item, "id").to_owned();
    let failed = text(item, "status") == "failed";
    match text(item, "type") {
        "agent_message" => vec![Did::Said { text: text(item, "text").to_owned() }],
        "reasoning" => vec![Did::Thought { text: text(item, "text").to_owned() }],
        "command_execution" => {
            let code = item.get("exit_code").and_then(Value::as_i64);
            let failed = failed || code.is_some_and(|code| code != 0);
            vec![Did::Answered { id, text: text(item, "aggregated_output").to_owned(), failed }]
        }
        "mcp_tool_call" => {
            let error =
                item.get("error").filter(|error| !error.is_null()).map(|error| text(error, "message"));
            let result = item.get("result").and_then(|result| result.get("content")).unwrap_or(&Value::Null);
            let answer = error.map_or_else(|| words(result), str::to_owned);
            vec![Did::Answered { id, text: answer, failed: failed || error.is_some() }]
        }
        "file_change" => {
            let changes = item.get("changes").cloned().unwrap_or_default();
            let called = Did::Called {
                id: id.clone(),
                tool: "file_change".to_owned(),
                input: json!({"changes": changes}),
                command: None,
            };
            vec![called, Did::Answered { id, text: text(item, "status").to_owned(), failed }]
        }
        "error" => vec![Did::Raw { text: text(item, "message").to_owned() }],
        "todo_list" => Vec::new(),
        _ => raw(line),
    }
}
