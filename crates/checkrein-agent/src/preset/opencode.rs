//! OpenCode: `opencode run --format json`, parts of messages.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use checkrein_core::activity::Did;
use checkrein_core::config::agent::Permissions;
use serde_json::{Value, json};

use super::stream::{Events, Forbidden, Heard, called};
use super::trouble::Trouble;
use super::{Invocation, Limits, Prompt, attempt_object, lay_over, number, path, program, raw, text};
use crate::task::AgentTask;

pub const VARIABLES: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
    "OPENCODE_API_KEY",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_DIR",
    "OPENCODE_CONFIG_CONTENT",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_AUTOUPDATE",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
];

pub const CREDENTIALS: &[(&str, &str)] = &[
    (".local/share/opencode/auth.json", "data/opencode/auth.json"),
    (".config/opencode/opencode.json", "config/opencode/opencode.json"),
];

/// The last rule holds; the second of these is in nobody's settings, so it comes after all that are.
const OUR_TOOLS: &str = "checkrein_*";
const OUR_TOOLS_AGAIN: &str = "checkrein_**";

pub fn invocation(task: &AgentTask, prompt: &Prompt<'_>) -> Invocation {
    // That it only asks its model again shows in its log alone.
    let mut args = ["run", "--format", "json", "--auto", "--print-logs", "--log-level", "ERROR"]
        .map(str::to_owned)
        .to_vec();
    if let Some(model) = task.spec.model(task.kind) {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    if let Some(session) = prompt.session {
        args.extend(["--session".to_owned(), session.to_owned()]);
    }
    args.extend(task.spec.args.iter().cloned());
    // What a person's own variable says stays, beside what the attempt needs.
    let theirs = std::env::var("OPENCODE_CONFIG_CONTENT").ok();
    let mut config: Value =
        theirs.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_else(|| json!({}));
    let server = json!({"type": "local", "command": [path(&task.checkrein), "mcp"], "environment": attempt_object(task),
        "enabled": true});
    let web = match task.permissions() {
        Permissions::All => "allow",
        Permissions::Workspace => "deny",
    };
    let outside = if task.sandboxed { "allow" } else { "deny" };
    let mut permission = json!({"edit": "allow", "bash": "allow", "webfetch": web, "websearch": web, "codesearch": web,
        "external_directory": outside});
    lay_over(&mut permission, json!({OUR_TOOLS: "allow", OUR_TOOLS_AGAIN: "allow"}));
    if let Some(fields) = config.as_object_mut() {
        let servers = fields.entry("mcp").or_insert_with(|| json!({}));
        if let Some(servers) = servers.as_object_mut() {
            servers.insert("checkrein".to_owned(), server);
        }
        // Whatever a repository says: which agent it is, and rules of an agent, which come after those for all of them.
        fields.insert("default_agent".to_owned(), json!("build"));
        let agents = fields.entry("agent").or_insert_with(|| json!({}));
        lay_over(agents, json!({"build": {"permission": permission}}));
        fields.insert("permission".to_owned(), permission);
        fields.insert("autoupdate".to_owned(), json!(false));
        fields.insert("share".to_owned(), json!("disabled"));
    }
    let mut env = vec![("OPENCODE_CONFIG_CONTENT".to_owned(), config.to_string())];
    if task.sandboxed {
        for (variable, name) in
            [("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state")]
        {
            env.push((variable.to_owned(), path(&task.home.join(name))));
        }
    }
    Invocation {
        program: program(&task.spec, "opencode"),
        args,
        env,
        stdin: prompt.text.to_owned(),
        files: Vec::new(),
    }
}

/// Has the program make its database before two of them do so at once, which fails one of them.
pub fn make_database(call: &Invocation) -> std::io::Result<()> {
    let set = |name: &str| {
        let own = call.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.into());
        own.or_else(|| std::env::var_os(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    let Some(data) = data.map(|data| data.join("opencode")) else { return Ok(()) };
    std::fs::create_dir_all(&data)?;
    let lock = std::fs::File::create(data.join("checkrein.lock"))?;
    lock.lock()?;
    if data.join("opencode.db").exists() {
        return Ok(());
    }
    let mut command = std::process::Command::new(&call.program);
    command.args(["session", "list"]).envs(call.env.iter().map(|(name, value)| (name, value)));
    // Where it cannot, it says so itself when it is started to work.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().map(drop)
}

#[derive(Default)]
pub struct Parts {
    has_begun: bool,
    tokens: u64,
    cost: f64,
    /// Since when its model answers nothing but errors, and the last of them.
    stuck: Option<(Instant, String)>,
    forbidden: Forbidden,
}

impl Parts {
    pub fn of(task: &AgentTask) -> Parts {
        Parts { forbidden: Forbidden::unless_free(task, &WEB), ..Parts::default() }
    }

    /// Its model answered nothing it can use, and it asks again.
    fn ask_in_vain(&mut self, said: &str) {
        let since = self.stuck.take().map_or_else(Instant::now, |(since, _)| since);
        self.stuck = Some((since, said.to_owned()));
    }
}

const WEB: [&str; 3] = ["webfetch", "websearch", "codesearch"];

impl Events for Parts {
    fn limits(&self) -> Limits {
        self.forbidden.limits()
    }

    fn read(&mut self, event: &Value, line: &str, heard: &mut Heard) -> Vec<Did> {
        let mut did = Vec::new();
        // Its session is said with every line; it begins with the first.
        let session = text(event, "sessionID");
        if !session.is_empty() && !std::mem::replace(&mut self.has_begun, true) {
            did.push(heard.began("", session));
        }
        let part = event.get("part").unwrap_or(&Value::Null);
        if matches!(text(event, "type"), "text" | "reasoning" | "tool_use" | "tool") {
            self.stuck = None;
        }
        match text(event, "type") {
            "step_start" => {}
            "text" => did.push(Did::Said { text: text(part, "text").to_owned() }),
            "reasoning" => did.push(Did::Thought { text: text(part, "text").to_owned() }),
            "tool_use" | "tool" => did.extend(tool(part)),
            "step_finish" => {
                let tokens = part.get("tokens").unwrap_or(&Value::Null);
                let cache = tokens.get("cache").unwrap_or(&Value::Null);
                let counted: u64 =
                    ["input", "output", "reasoning"].iter().map(|name| number(tokens, name)).sum();
                self.tokens += counted + number(cache, "read") + number(cache, "write");
                self.cost += part.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
                let cost = Some(self.cost).filter(|cost| *cost > 0.0);
                did.push(Did::Used { tokens: self.tokens, cost });
                // An answer with nothing in it: it asks again at once, and without an end.
                if counted == 0 && text(part, "reason") == "unknown" {
                    self.ask_in_vain("it answered nothing");
                }
            }
            "error" => {
                let error = event.get("error").unwrap_or(&Value::Null);
                let data = error.get("data").unwrap_or(&Value::Null);
                let said = [text(data, "message"), text(error, "message"), text(error, "name")];
                let said = said.into_iter().find(|said| !said.is_empty()).unwrap_or("an error");
                let status = data.get("statusCode").and_then(Value::as_u64);
                let shown = status.map(|status| format!("{said} ({status})"));
                did.push(heard.went_wrong("error", shown.as_deref().unwrap_or(said)));
                let status = status.and_then(|status| u16::try_from(status).ok());
                heard.trouble = Some(Trouble::with_status(shown.as_deref().unwrap_or(said), status));
            }
            _ => did.extend(raw(line)),
        }
        self.forbidden.watch(&did);
        did
    }

    fn complain(&mut self, line: &str, _: &mut Heard) {
        // A title for the session is asked of a small model, and is not needed.
        if !line.contains(r#"message="stream error""#) || line.contains(" small=true ") {
            return;
        }
        let said = line.split_once(r#"error.error=""#).map_or(line, |(_, said)| said).trim_end_matches('"');
        self.ask_in_vain(said);
    }

    fn stuck(&self) -> Option<(Instant, &str)> {
        self.stuck.as_ref().map(|(since, said)| (*since, said.as_str()))
    }
}

/// A call and its answer come together.
fn tool(part: &Value) -> [Did; 2] {
    let id = text(part, "callID").to_owned();
    let state = part.get("state").unwrap_or(&Value::Null);
    let exit = state.get("metadata").and_then(|metadata| metadata.get("exit")).and_then(Value::as_i64);
    let failed = text(state, "status") == "error" || exit.is_some_and(|code| code != 0);
    let answer = [text(state, "output"), text(state, "error")].concat();
    [called(&id, text(part, "tool"), state.get("input"), "bash"), Did::Answered { id, text: answer, failed }]
}
