//! OpenCode: `opencode run --format json`, parts of messages.

use checkrein_core::activity::Did;
use checkrein_core::config::agent::Permissions;
use serde_json::{Value, json};

use super::stream::{Events, Heard, called};
use super::{Invocation, Prompt, attempt_object, number, path, program, raw, text};
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

pub fn invocation(task: &AgentTask, prompt: &Prompt<'_>) -> Invocation {
    let mut args = ["run", "--format", "json", "--auto"].map(str::to_owned).to_vec();
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
    let server = json!({"type": "local", "command": [path(&task.checkrein), "mcp"], "environment": attempt_object(),
        "enabled": true});
    let web = match task.permissions() {
        Permissions::All => "allow",
        Permissions::Workspace => "deny",
    };
    let outside = if task.sandboxed { "allow" } else { "deny" };
    let permission =
        json!({"edit": "allow", "bash": "allow", "webfetch": web, "external_directory": outside});
    if let Some(fields) = config.as_object_mut() {
        let servers = fields.entry("mcp").or_insert_with(|| json!({}));
        if let Some(servers) = servers.as_object_mut() {
            servers.insert("checkrein".to_owned(), server);
        }
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

#[derive(Default)]
pub struct Parts {
    has_begun: bool,
    tokens: u64,
    cost: f64,
}

impl Events for Parts {
    fn read(&mut self, event: &Value, line: &str, heard: &mut Heard) -> Vec<Did> {
        let mut did = Vec::new();
        // Its session is said with every line; it begins with the first.
        let session = text(event, "sessionID");
        if !session.is_empty() && !std::mem::replace(&mut self.has_begun, true) {
            did.push(heard.began("", session));
        }
        let part = event.get("part").unwrap_or(&Value::Null);
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
            }
            "error" => {
                let error = event.get("error").unwrap_or(&Value::Null);
                let data = error.get("data").unwrap_or(&Value::Null);
                let said = [text(data, "message"), text(error, "message"), text(error, "name")];
                let said = said.into_iter().find(|said| !said.is_empty()).unwrap_or("an error");
                let status = data.get("statusCode").map(|status| format!(" ({status})")).unwrap_or_default();
                did.push(heard.went_wrong("error", &format!("{said}{status}")));
            }
            _ => did.extend(raw(line)),
        }
        did
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
