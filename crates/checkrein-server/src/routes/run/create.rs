use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_core::config::Workflow;
use checkrein_core::document::{Document, Format, Gravity, Problems};
use checkrein_engine::{Act, Defined, RunRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Created;
use crate::ask::{ExactJson, some_of};
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::run::Run;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The workflow: an object, or a text in the format
    #[schemars(with = "WorkflowSent")]
    workflow: Value,
    /// How a workflow that is a text is written
    #[serde(default)]
    format: WorkflowFormat,
    /// A level for this run
    level: Option<String>,
    /// Settings of the policy, such as `limits.max_total_warnings`, and values for placeholders
    #[serde(default)]
    set: BTreeMap<String, Value>,
    /// What the work is about; the git branch of the server's directory if nothing is said
    target: Option<String>,
    /// The work item it belongs to
    work_id: Option<String>,
    /// Only these phases; all of them if nothing is said
    #[schemars(length(min = 1))]
    phases: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only described")]
enum WorkflowSent {
    Text(String),
    Object(crate::wire::Object),
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum WorkflowFormat {
    #[default]
    Yaml,
    Json,
    Toml,
}

/// The new run, and what is odd about how it was started.
#[derive(Debug, Serialize, JsonSchema)]
struct NewRun {
    #[serde(flatten)]
    run: Run,
    warnings: Vec<String>,
}

pub fn route() -> Route {
    Route::post("/v1/runs", create)
        .about(
            "createRun",
            "Run a workflow that is sent, in the server's directory; a worker takes it up. Its commands run as the server",
        )
        .to(Act::SendWorkflow)
}

async fn create(call: Call, ExactJson(wanted): ExactJson<Wanted>) -> Result<Created<NewRun>, Problem> {
    let invalid = |problems: Problems| Problem::of_text(Kind::Invalid, &problems);
    let (text, format) = match (&wanted.workflow, wanted.format) {
        (Value::String(text), WorkflowFormat::Yaml) => (text.clone(), Format::Yaml),
        (Value::String(text), WorkflowFormat::Json) => (text.clone(), Format::Json),
        (Value::String(text), WorkflowFormat::Toml) => (text.clone(), Format::Toml),
        (object, _) => (object.to_string(), Format::Json),
    };
    let document = Arc::new(Document::parse("workflow", &text, format).map_err(invalid)?);
    let stands_alone = |workflow: &Workflow, _: &str| -> Result<Arc<Document>, Problems> {
        let message = "a workflow that is sent stands alone";
        let problem = workflow.document.problem(Gravity::Error, &["extends"], message);
        Err(problem.hint("put what it extends into it").into())
    };
    let (chain, odd) = Workflow::chain(&document, stands_alone).map_err(invalid)?;
    let mut warnings: Vec<String> = odd.iter().map(ToString::to_string).collect();
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let request = RunRequest {
        level: wanted.level,
        sets: wanted.set.into_iter().map(|(name, value)| (name, text(value))).collect(),
        target: wanted.target,
        work_id: wanted.work_id,
        phases: some_of("phases", wanted.phases)?,
    };
    let directory = std::env::current_dir()
        .map_err(|error| Problem::new(Kind::Internal, format!("there is no current directory: {error}")))?;
    let engine = call.engine();
    let Defined { definition, odd } = engine.define_run(&chain, &request, &directory)?;
    warnings.extend(odd);
    let by = call.by()?;
    let id = engine.create_run_once(by, definition, None, call.nonce()).await?;
    let view = engine.run(by, id.as_str()).await?;
    let run = Run::of(&view, engine.now());
    Ok(Created::new(NewRun { run, warnings }).at(view.run.state.version).location(super::path(id.as_str())))
}
