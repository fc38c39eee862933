//! Codex: `codex exec --json`, threads, turns and items.

use std::path::PathBuf;

use checkrein_core::activity::Did;
use checkrein_core::config::agent::Permissions;
use serde_json::{Value, json};

use super::record::{directories, directory_of};
use super::stream::{Events, Heard};
use super::{Invocation, Limits, Prompt, attempt_object, number, path, program, raw, text, words};
use crate::tail::LineTail;
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
    if let (Ok(clone), true) = (std::env::current_dir(), task.is_job() && !task.sandboxed) {
        // It commits in its clone. A step of a workflow works in the person's own repository, whose hooks and settings
        // stay out of its reach.
        args.extend(["--add-dir".to_owned(), path(&clone.join(".git"))]);
    }
    if prompt.session.is_some() {
        args.push("resume".to_owned());
    }
    args.extend(["--json", "--skip-git-repo-check"].map(str::to_owned));
    let mut settings = vec![
        ("approval_policy", json!("never")),
        ("mcp_servers.checkrein.command", json!(path(&task.checkrein))),
        ("mcp_servers.checkrein.args", json!(["mcp"])),
        ("mcp_servers.checkrein.env", attempt_object(task)),
        // Whatever its settings say of a server of this name.
        ("mcp_servers.checkrein.enabled", json!(true)),
        ("mcp_servers.checkrein.enabled_tools", json!(super::tools(task))),
        ("mcp_servers.checkrein.disabled_tools", json!([])),
    ];
    if task.permissions() == Permissions::Workspace {
        // Its model's own search is no command, so the sandbox does not keep it in.
        settings.push(("web_search", json!("disabled")));
    }
    // Its own sandbox cannot be made inside ours, and is not needed there.
    if task.sandboxed {
        args.push("--dangerously-bypass-approvals-and-sandbox".to_owned());
    } else {
        let network = task.permissions() == Permissions::All;
        settings.push(("sandbox_mode", json!("workspace-write")));
        settings.push(("sandbox_workspace_write.network_access", json!(network)));
    }
    let set = |(name, value): (&str, Value)| ["-c".to_owned(), format!("{name}={}", toml(&value))];
    args.extend(settings.into_iter().flat_map(set));
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

#[derive(Default)]
pub struct Items {
    /// Where the records of its threads are; none for a program that only writes like it.
    sessions: Option<PathBuf>,
    record: Option<LineTail>,
    thread: String,
    /// What the thread had used when it was last left; the program counts on from there.
    before: u64,
    /// What it has used by now, as its record says.
    total: Option<u64>,
    /// What its sandbox has to be, unless ours is around it or a person's own arguments say otherwise.
    sandbox: Option<Sandbox>,
    limits: Option<Limits>,
}

/// What commands of its model may do.
struct Sandbox {
    network: bool,
}

impl Sandbox {
    fn of(task: &AgentTask) -> Option<Sandbox> {
        let own = task.spec.args.iter().any(|argument| argument.contains("sandbox"));
        (!task.sandboxed && !own).then(|| Sandbox { network: task.permissions() == Permissions::All })
    }

    /// Whether what the program says of a turn is within it.
    fn holds(&self, turn: &Value) -> Limits {
        let policy = turn.get("sandbox_policy").unwrap_or(&Value::Null);
        let network = policy.get("network_access").and_then(Value::as_bool).unwrap_or(false);
        match text(policy, "type") {
            "" => Limits::Unknown,
            "read-only" => Limits::InForce,
            "workspace-write" if network && !self.network => {
                Limits::Broken("its sandbox lets commands use the network".to_owned())
            }
            "workspace-write" => Limits::InForce,
            other => Limits::Broken(format!("its sandbox is `{other}`")),
        }
    }
}

impl Items {
    pub fn of(task: &AgentTask, session: Option<&str>) -> Items {
        Items::within(task, directory_of(task, "CODEX_HOME", ".codex").join("sessions"), session)
    }

    /// With the records of its threads in this directory.
    pub fn within(task: &AgentTask, sessions: PathBuf, session: Option<&str>) -> Items {
        let sandbox = Sandbox::of(task);
        let mut items = Items { sessions: Some(sessions), sandbox, ..Items::default() };
        if let Some(session) = session {
            items.open(session, usize::MAX);
            items.look(&mut Heard::default());
            items.before = items.total.take().unwrap_or(0);
            items.limits = None;
        }
        items
    }

    /// Finds the record of a thread, which is among those of the day it began.
    fn open(&mut self, thread: &str, days: usize) {
        let Some(sessions) = &self.sessions else { return };
        let ending = format!("-{thread}.jsonl");
        let years = directories(sessions);
        let days = years.flat_map(|year| directories(&year)).flat_map(|month| directories(&month)).take(days);
        let files = days.flat_map(|day| std::fs::read_dir(day).into_iter().flatten().flatten());
        let found = files
            .filter(|file| file.file_type().is_ok_and(|kind| kind.is_file()))
            .find(|file| file.file_name().to_string_lossy().ends_with(&ending));
        self.record = found.map(|file| LineTail::of(&file.path()));
    }

    /// What this call used, where its record says so.
    fn used(&self) -> Option<Did> {
        let total = self.total?;
        // A counter that says less than before began anew.
        Some(Did::Used { tokens: total.checked_sub(self.before).unwrap_or(total), cost: None })
    }
}

impl Events for Items {
    fn read(&mut self, event: &Value, line: &str, heard: &mut Heard) -> Vec<Did> {
        let item = event.get("item").unwrap_or(&Value::Null);
        match text(event, "type") {
            "thread.started" => {
                text(event, "thread_id").clone_into(&mut self.thread);
                vec![heard.began("", text(event, "thread_id"))]
            }
            "turn.started" | "item.updated" => Vec::new(),
            "item.started" => begun(item).into_iter().collect(),
            "item.completed" => ended(item, line),
            "turn.completed" => {
                heard.trouble = None;
                self.look(heard);
                let usage = event.get("usage").unwrap_or(&Value::Null);
                let said = || Did::Used { tokens: tokens(usage), cost: None };
                vec![self.used().unwrap_or_else(said)]
            }
            "turn.failed" => {
                let error = event.get("error").unwrap_or(&Value::Null);
                vec![heard.went_wrong("turn failed", text(error, "message"))]
            }
            "error" => vec![heard.went_wrong("error", text(event, "message"))],
            _ => raw(line),
        }
    }

    /// It says what it used at the end of a turn; its record says so after every answer of its model.
    fn look(&mut self, _: &mut Heard) -> Vec<Did> {
        if self.record.is_none() && !self.thread.is_empty() {
            let thread = self.thread.clone();
            // Of today, or of yesterday at midnight.
            self.open(&thread, 2);
        }
        let known = self.total;
        let of_interest = |line: &String| line.contains("token_count") || line.contains("turn_context");
        for line in self.record.iter_mut().flat_map(LineTail::new_lines).filter(of_interest) {
            let Ok(entry) = serde_json::from_str::<Value>(&line) else { continue };
            if let (Some(sandbox), "turn_context") = (&self.sandbox, text(&entry, "type")) {
                self.limits = Some(sandbox.holds(entry.get("payload").unwrap_or(&Value::Null)));
            }
            if let Some(usage) = entry.pointer("/payload/info/total_token_usage") {
                self.total = Some(tokens(usage));
            }
        }
        self.used().filter(|_| self.total != known).into_iter().collect()
    }

    fn limits(&self) -> Limits {
        match (&self.sandbox, &self.limits) {
            (Some(_), None) => Limits::Unknown,
            (Some(_), Some(limits)) => limits.clone(),
            (None, _) => Limits::InForce,
        }
    }
}

fn tokens(usage: &Value) -> u64 {
    number(usage, "input_tokens").saturating_add(number(usage, "output_tokens"))
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
