//! The tools of the built-in agent: one list, and what each does.

use std::time::Duration;

use checkrein_core::config::agent::{BuiltinSpec, CommandLimits};
use checkrein_core::config::env;
use serde_json::{Value, json};

use super::files::Files;
use super::{command, compact, git, signals, sql};
use crate::llm::{Model, Tool};
use crate::task::AgentTask;

/// A tool as it is offered to the model.
pub type Offer = Tool;

pub fn offer(name: &str, description: &str, properties: Value, required: &[&str]) -> Offer {
    let input = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    Tool { name: name.to_owned(), description: description.to_owned(), input }
}

pub struct Toolbox {
    files: Files,
    limits: CommandLimits,
    command_time: Duration,
    /// Variables that commands do not see.
    hidden: Vec<String>,
    datasources: Vec<(String, String)>,
    own_files: String,
    offers: Vec<Offer>,
}

impl Toolbox {
    pub fn open(task: &AgentTask, spec: &BuiltinSpec, _model: &Model) -> Result<Toolbox, String> {
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        let files = Files::open(&here)?;
        let mut hidden: Vec<String> = [&spec.strategic, &spec.tactical]
            .into_iter()
            .flat_map(|model| model.variables())
            .map(str::to_owned)
            .collect();
        hidden.extend([env::TOKEN, env::ATTEMPT_TOKEN].map(str::to_owned));
        let mut offers = offers();
        if !task.datasources.is_empty() {
            offers.extend(sql::offers(&task.datasources));
        }
        if task.is_job() {
            offers.extend(signals::of_jobs());
        } else {
            offers.push(signals::report());
        }
        Ok(Toolbox {
            files,
            limits: spec.commands.clone(),
            command_time: Duration::from_secs(spec.command_timeout_s),
            hidden,
            datasources: task.datasources.clone(),
            own_files: task.own_files.clone(),
            offers,
        })
    }

    pub fn tools(&self) -> Vec<Offer> {
        self.offers.clone()
    }

    /// What is written down for a conversation that begins anew.
    pub fn workspace(&self) -> Option<String> {
        let path = self.files.within(&compact::workspace_path(&self.own_files)).ok()?;
        String::from_utf8(crate::regular::read(&path).ok()?).ok()
    }

    pub async fn call(&self, name: &str, input: &Value) -> Result<String, String> {
        if !self.offers.iter().any(|offer| offer.name == name) {
            let known: Vec<&str> = self.offers.iter().map(|offer| offer.name.as_str()).collect();
            return Err(format!("there is no tool `{name}`; there are {}", known.join(", ")));
        }
        if let Some(answered) = signals::call(name, input) {
            return answered;
        }
        let maybe = |field: &str| input.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let text = |field: &str| {
            let found = input.get(field).and_then(Value::as_str);
            found.ok_or_else(|| format!("`{field}` is missing, or not a text"))
        };
        let number = |field: &str| input.get(field).and_then(Value::as_u64);
        let count = |field: &str| number(field).and_then(|number| usize::try_from(number).ok());
        let (root, hidden) = (self.files.root(), self.hidden.as_slice());
        match name {
            "read_file" => {
                self.files.read(text("path")?, count("offset").unwrap_or(1).max(1), count("limit"))
            }
            "write_file" => self.files.write(text("path")?, text("content")?),
            "edit_file" => {
                let everywhere = input.get("all").and_then(Value::as_bool).unwrap_or(false);
                self.files.edit(text("path")?, text("old")?, text("new")?, everywhere)
            }
            "list_files" => {
                self.files.list(maybe("path").unwrap_or_default(), count("depth").unwrap_or(2).clamp(1, 10))
            }
            "search" => {
                let path = maybe("path");
                path.map_or(Ok(()), |path| self.files.within(path).map(drop))?;
                git::search(root, text("pattern")?, path, hidden).await
            }
            "run_command" => {
                let line = text("command")?;
                if let Some(why) = command::forbidden(&self.limits, line) {
                    return Err(why);
                }
                let wanted = number("timeout_s").map_or(self.command_time, Duration::from_secs);
                command::run(root, line, wanted.min(self.command_time), hidden).await
            }
            "git_log" => git::log(root, number("max").unwrap_or(20), maybe("path"), hidden).await,
            "git_diff" => git::diff(root, maybe("from"), maybe("to"), maybe("path"), hidden).await,
            "git_show" => git::show(root, text("revision")?, hidden).await,
            "git_status" => git::status(root, hidden).await,
            "sql_schema" => sql::schema(&self.datasources, text("datasource")?).await,
            "sql_query" => {
                sql::query(
                    &self.datasources,
                    text("datasource")?,
                    text("query")?,
                    count("limit").unwrap_or(100),
                )
                .await
            }
            _ => Err(format!("there is no tool `{name}`")),
        }
    }
}

fn offers() -> Vec<Offer> {
    let (text, number, flag) =
        (json!({"type": "string"}), json!({"type": "integer"}), json!({"type": "boolean"}));
    vec![
        offer(
            "read_file",
            "Read a text file, with line numbers; from line `offset`, so many lines.",
            json!({"path": text, "offset": number, "limit": number}),
            &["path"],
        ),
        offer(
            "write_file",
            "Write a whole file; directories are made.",
            json!({"path": text, "content": text}),
            &["path", "content"],
        ),
        offer(
            "edit_file",
            "Replace `old` by `new` in a file. `old` must be in it exactly once, unless `all`.",
            json!({"path": text, "old": text, "new": text, "all": flag}),
            &["path", "old", "new"],
        ),
        offer(
            "list_files",
            "List a directory, some levels deep.",
            json!({"path": text, "depth": number}),
            &[],
        ),
        offer(
            "search",
            "Search files for an extended regular expression.",
            json!({"pattern": text, "path": text}),
            &["pattern"],
        ),
        offer(
            "run_command",
            "Run a shell command in the directory you work in.",
            json!({"command": text, "timeout_s": number}),
            &["command"],
        ),
        offer("git_log", "The last commits.", json!({"max": number, "path": text}), &[]),
        offer(
            "git_diff",
            "What differs: in the working tree, from a revision, or between two.",
            json!({"from": text, "to": text, "path": text}),
            &[],
        ),
        offer("git_show", "One commit.", json!({"revision": text}), &["revision"]),
        offer("git_status", "What is changed and not committed.", json!({}), &[]),
    ]
}
