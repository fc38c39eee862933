//! The review companion: what it looks at, and the conversations it does that for.
//!
//! Each tool is a file: what it takes, what it tells, and the method that does it. All of them only look, at one job
//! that whoever calls them names or is in, never the model. The list here is what a chat hands to its model and what
//! MCP offers to any client, so that both know the same.

mod chat;
mod page;
mod workspace;

mod get_audit_trail;
mod get_chat_history;
mod get_graph_changes;
mod get_job;
mod get_job_progress;
mod get_llm_request;
mod get_todos;
mod git_diff;
mod git_log;
mod git_show;
mod list_workspace_files;
mod read_workspace_file;
mod search_audit;
mod search_workspace;
mod vector_search;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use checkrein_core::principal::Principal;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::authority::{Act, require};
use crate::{Engine, EngineError};

pub(crate) use chat::Companion;
pub use chat::{Asking, ChatOf, ChatPiece, ChatView};
pub use get_audit_trail::{AuditItem, AuditOf, AuditTrail, AuditWanted};
pub use get_chat_history::{ChatHistory, ChatHistoryWanted, ChatSaid};
pub use get_graph_changes::{GraphChange, GraphChanges, GraphChangesWanted};
pub use get_job::{JobShown, JobWanted};
pub use get_job_progress::{JobProgress, PhaseProgress, ProgressWanted};
pub use get_llm_request::{LlmAsked, LlmAskedWanted, LlmAskedWhole, LlmRequests};
pub use get_todos::{PhaseTodos, Todos, TodosWanted};
pub use git_diff::{DiffPart, DiffWanted, DiffedFile, GitDiff};
pub use git_log::{GitCommit, GitLog, GitLogWanted};
pub use git_show::{GitShow, GitShowWanted};
pub use list_workspace_files::{FilesWanted, WorkspaceEntry, WorkspaceFiles};
pub use page::Lines;
pub use read_workspace_file::{FileWanted, WorkspaceFile};
pub use search_audit::{AuditHit, AuditHits, AuditSearch};
pub use search_workspace::{TextFound, TextHit, TextWanted};
pub use vector_search::SearchWanted;

/// Every tool that looks, in the order they are told in.
pub fn read_tools() -> &'static [ReadTool] {
    static TOOLS: OnceLock<Vec<ReadTool>> = OnceLock::new();
    TOOLS.get_or_init(|| {
        vec![
            get_job::tool(),
            get_job_progress::tool(),
            get_todos::tool(),
            get_graph_changes::tool(),
            get_audit_trail::tool(),
            get_chat_history::tool(),
            search_audit::tool(),
            get_llm_request::tool(),
            list_workspace_files::tool(),
            read_workspace_file::tool(),
            search_workspace::tool(),
            vector_search::tool(),
            git_log::tool(),
            git_diff::tool(),
            git_show::tool(),
        ]
    })
}

type Told<'a> = Pin<Box<dyn Future<Output = Result<Value, EngineError>> + Send + 'a>>;
type Telling = dyn for<'a> Fn(&'a Engine, &'a Principal, &'a str, Value) -> Told<'a> + Send + Sync;

/// A tool that looks at one job.
#[derive(Clone)]
pub struct ReadTool {
    pub name: &'static str,
    /// What it is for, to a model.
    pub about: &'static str,
    /// What using it takes.
    pub act: Act,
    /// What it takes beside the job, as JSON Schema.
    pub schema: Value,
    telling: Arc<Telling>,
}

impl ReadTool {
    fn new<W: DeserializeOwned + JsonSchema + 'static>(
        name: &'static str,
        about: &'static str,
        tell: for<'a> fn(&'a Engine, &'a Principal, &'a str, W) -> Told<'a>,
    ) -> ReadTool {
        let schema = schema::<W>();
        let known = schema.get("properties").and_then(Value::as_object);
        let known: Vec<String> = known.into_iter().flat_map(|known| known.keys().cloned()).collect();
        let telling = for_any_job(move |engine, by, job, arguments: Value| {
            let arguments = if arguments.is_null() { json!({}) } else { arguments };
            let read = match unknown(&known, &arguments) {
                Some(reason) => Err(reason),
                None => serde_json::from_value(arguments).map_err(|error| error.to_string()),
            };
            match read {
                Ok(wanted) => tell(engine, by, job, wanted),
                Err(reason) => {
                    let refused = EngineError::Arguments { tool: name, reason };
                    Box::pin(std::future::ready(Err(refused)))
                }
            }
        });
        ReadTool { name, about, act: Act::Read, schema, telling: Arc::new(telling) }
    }
}

/// What is wrong with the names of arguments. It is said here for all tools: what several of them take is a type of its
/// own, and serde refuses nothing unknown beside such a type.
fn unknown(known: &[String], arguments: &Value) -> Option<String> {
    let odd = arguments.as_object()?.keys().find(|name| !known.contains(name))?;
    if known.is_empty() {
        return Some(format!("unknown field `{odd}`; there is nothing to say"));
    }
    Some(format!("unknown field `{odd}`, expected one of `{}`", known.join("`, `")))
}

/// Says of a closure how long what it takes has to live.
fn for_any_job<F>(telling: F) -> F
where
    F: for<'a> Fn(&'a Engine, &'a Principal, &'a str, Value) -> Told<'a>,
{
    telling
}

impl Engine {
    /// Looks at a job with a tool. What is secret here or of the job is masked in what it tells.
    pub async fn look_with(
        &self,
        by: &Principal,
        job: &str,
        tool: &ReadTool,
        arguments: Value,
    ) -> Result<Value, EngineError> {
        require(by, tool.act)?;
        let id = self.seen_run(by, job).await?;
        let told = (tool.telling)(self, by, id.as_str(), arguments).await?;
        let written = told.to_string();
        Ok(match self.redacted_json(written.as_bytes(), Some(&id)) {
            std::borrow::Cow::Owned(clean) => serde_json::from_slice(&clean).unwrap_or_default(),
            std::borrow::Cow::Borrowed(_) => told,
        })
    }
}

/// What a tool tells, as JSON.
fn told(answer: &impl Serialize) -> Result<Value, EngineError> {
    serde_json::to_value(answer).map_err(|error| EngineError::Definition(error.to_string()))
}

fn schema<W: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<W>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        for name in ["$schema", "title", "description"] {
            fields.remove(name);
        }
        fields.entry("type").or_insert_with(|| json!("object"));
        fields.entry("properties").or_insert_with(|| json!({}));
        fields.insert("additionalProperties".to_owned(), json!(false));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_says_what_it_is_for_and_takes_nothing_unknown() {
        for tool in read_tools() {
            assert!(tool.about.ends_with('.'), "{}", tool.name);
            assert_eq!(tool.schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.schema["additionalProperties"], false, "{}", tool.name);
            assert!(
                tool.schema["properties"].get("job").is_none(),
                "{}: the caller names the job",
                tool.name
            );
        }
        let mut names: Vec<_> = read_tools().iter().map(|tool| tool.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), read_tools().len(), "no name is there twice");
    }

    #[test]
    fn what_a_tool_does_not_take_is_named_with_what_it_takes() {
        let known = |name: &str| -> Vec<String> {
            let tool = read_tools().iter().find(|tool| tool.name == name).unwrap();
            tool.schema["properties"].as_object().unwrap().keys().cloned().collect()
        };
        for (tool, arguments, expected) in [
            ("git_diff", json!({"from": "main", "file": "plan.md", "first_line": 2, "lines": 3}), None),
            ("git_show", json!({"commit": "head", "file": "plan.md", "first_line": 2, "lines": 3}), None),
            ("git_show", json!({"from": "main"}), Some("unknown field `from`, expected one of `commit`, `")),
            ("git_diff", json!({"job": "other"}), Some("unknown field `job`")),
            ("get_job", json!([]), None),
        ] {
            let found = unknown(&known(tool), &arguments);
            assert_eq!(found.is_some(), expected.is_some(), "{tool} {arguments}: {found:?}");
            assert!(
                found.unwrap_or_default().starts_with(expected.unwrap_or_default()),
                "{tool} {arguments}"
            );
        }
    }
}
