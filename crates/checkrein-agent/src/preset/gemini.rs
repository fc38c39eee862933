//! Gemini CLI: `gemini -o stream-json`.

use std::time::Instant;

use checkrein_core::activity::Did;
use checkrein_core::config::agent::Permissions;
use serde_json::{Value, json};

use super::stream::{Events, Forbidden, Heard, called};
use super::trouble::{Trouble, status_in};
use super::{Invocation, Limits, Prompt, lay_over, number, path, program, raw, stdio_server, text, words};
use crate::task::AgentTask;

pub const VARIABLES: &[&str] = &[
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GEMINI_MODEL",
    "GEMINI_CLI_HOME",
];

/// The user's settings, of which a copy goes with ours into the program's own.
const SETTINGS_OF_USER: &str = "gemini-settings-of-user.json";

pub const CREDENTIALS: &[(&str, &str)] = &[
    (".gemini/oauth_creds.json", ".gemini/oauth_creds.json"),
    (".gemini/google_accounts.json", ".gemini/google_accounts.json"),
    (".gemini/gemini-credentials.json", ".gemini/gemini-credentials.json"),
    (".gemini/GEMINI.md", ".gemini/GEMINI.md"),
    (".gemini/settings.json", SETTINGS_OF_USER),
];

const WEB: [&str; 2] = ["web_fetch", "google_web_search"];

/// It believes system settings only where they are root's, so ours are those of its user, in a home of its own.
pub fn invocation(task: &AgentTask, prompt: &Prompt<'_>) -> Invocation {
    let mut server = stdio_server(task);
    if let Some(fields) = server.as_object_mut() {
        fields.insert("trust".to_owned(), json!(true));
    }
    let theirs = std::fs::read(task.home.join(SETTINGS_OF_USER)).ok();
    let mut config = theirs.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_else(|| json!({}));
    lay_over(
        &mut config,
        json!({"mcpServers": {"checkrein": server}, "privacy": {"usageStatisticsEnabled": false},
            "general": {"enableAutoUpdate": false, "disableAutoUpdate": true}, "telemetry": {"enabled": false},
            "security": security()}),
    );
    let mut args =
        ["-o", "stream-json", "--approval-mode", "yolo", "--skip-trust"].map(str::to_owned).to_vec();
    // Settings in the clone have no say in these.
    let mut rules =
        "[[rule]]\ntoolName = \"*\"\nmcpName = \"checkrein\"\ndecision = \"allow\"\npriority = 999\n"
            .to_owned();
    if task.permissions() == Permissions::Workspace {
        lay_over(&mut config, json!({"tools": {"exclude": WEB}}));
        rules.push_str(&format!("[[rule]]\ntoolName = {WEB:?}\ndecision = \"deny\"\npriority = 999\n"));
    }
    let policy = task.home.join("gemini-policy.toml");
    args.extend(["--admin-policy".to_owned(), path(&policy)]);
    let mut files = vec![(policy, rules)];
    if let Some(model) = task.spec.model(task.kind) {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    if let Some(session) = prompt.session {
        args.extend(["--resume".to_owned(), session.to_owned()]);
    }
    args.extend(task.spec.args.iter().cloned());
    let mut env = vec![("GEMINI_CLI_HOME".to_owned(), path(&task.home))];
    if task.sandboxed {
        env.push(("HOME".to_owned(), path(&task.home)));
        // Its own sandbox is a container, which cannot be made in ours.
        env.push(("GEMINI_SANDBOX".to_owned(), "false".to_owned()));
    }
    files.push((task.home.join(".gemini/settings.json"), config.to_string()));
    Invocation { program: program(&task.spec, "gemini"), args, env, stdin: prompt.text.to_owned(), files }
}

/// With a key it needs to be told that it is to be used; a login of the user's own is left as it is.
fn security() -> Value {
    let keyed = std::env::var("GEMINI_API_KEY").is_ok_and(|key| !key.trim().is_empty());
    match keyed {
        true => json!({"folderTrust": {"enabled": false}, "auth": {"selectedType": "gemini-api-key"}}),
        false => json!({"folderTrust": {"enabled": false}}),
    }
}

#[derive(Default)]
pub struct Pieces {
    /// Words come in pieces.
    saying: String,
    /// Since when it only asks its model again, and what it was told last.
    stuck: Option<(Instant, String)>,
    forbidden: Forbidden,
}

impl Pieces {
    pub fn of(task: &AgentTask) -> Pieces {
        Pieces { forbidden: Forbidden::unless_free(task, &WEB), ..Pieces::default() }
    }

    fn said(&mut self) -> Option<Did> {
        let text = std::mem::take(&mut self.saying);
        (!text.trim().is_empty()).then_some(Did::Said { text })
    }
}

impl Events for Pieces {
    fn limits(&self) -> Limits {
        self.forbidden.limits()
    }

    fn read(&mut self, event: &Value, line: &str, heard: &mut Heard) -> Vec<Did> {
        if matches!((text(event, "type"), text(event, "role")), ("message", "assistant") | ("tool_use", _)) {
            (self.stuck, heard.status) = (None, None);
        }
        if text(event, "type") == "message" && text(event, "role") == "assistant" {
            self.saying.push_str(text(event, "content"));
            return Vec::new();
        }
        let mut did: Vec<Did> = self.said().into_iter().collect();
        match text(event, "type") {
            "init" => did.push(heard.began(text(event, "model"), text(event, "session_id"))),
            // What it was told.
            "message" => {}
            "tool_use" => {
                let (id, tool) = (text(event, "tool_id"), text(event, "tool_name"));
                did.push(called(id, tool, event.get("parameters"), "run_shell_command"));
            }
            "tool_result" => {
                let output = words(event.get("output").unwrap_or(&Value::Null));
                let error =
                    event.get("error").map(|error| text(error, "message").to_owned()).unwrap_or_default();
                let failed = text(event, "status") == "error"
                    || output.lines().any(|line| line.starts_with("Exit Code: ") && line != "Exit Code: 0");
                did.push(Did::Answered {
                    id: text(event, "tool_id").to_owned(),
                    text: [output, error].concat(),
                    failed,
                });
            }
            "error" => did.push(heard.went_wrong("error", text(event, "message"))),
            "result" => {
                let stats = event.get("stats").unwrap_or(&Value::Null);
                let counted = number(stats, "total_tokens");
                did.push(Did::Used { tokens: counted, cost: None });
                if text(event, "status") == "error" {
                    let said = event.get("error").map(|error| text(error, "message")).unwrap_or_default();
                    // Often it said before what went wrong.
                    if !said.is_empty() || heard.trouble.is_none() {
                        heard.trouble = Some(Trouble::told(said));
                    }
                }
            }
            _ => did.extend(raw(line)),
        }
        self.forbidden.watch(&did);
        did
    }

    /// It asks again for many minutes, and says so here alone: `Attempt 2 failed with status 503. Retrying …`.
    fn complain(&mut self, line: &str, heard: &mut Heard) {
        if !line.starts_with("Attempt ") || !line.contains(" failed") {
            return;
        }
        heard.status = status_in(line);
        let since = self.stuck.take().map_or_else(Instant::now, |(since, _)| since);
        let said = line.split_once("Retrying with backoff... ").map_or(line, |(_, said)| said);
        self.stuck = Some((since, said.to_owned()));
    }

    fn stuck(&self) -> Option<(Instant, &str)> {
        self.stuck.as_ref().map(|(since, said)| (*since, said.as_str()))
    }
}
