//! What the review companion looks at, for any client: each tool of the engine's own list, with the job beside what it
//! takes.

use std::sync::Arc;

use axum::body::Bytes;
use checkrein_engine::OwnAttempt;
use checkrein_engine::companion::{ReadTool, read_tools};
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

use super::super::asking::{Asking, own_job};
use super::super::tool::{Effect, Needs, Told, Tool};
use crate::error::{Kind, Problem};

pub fn tools() -> impl Iterator<Item = Tool> {
    read_tools().iter().map(|read| Tool {
        name: read.name,
        about: read.about,
        act: read.act,
        needs: Needs::Store,
        exact: false,
        effect: Effect::Looks,
        schema: Arc::new(schema(read)),
        handler: Arc::new(|asking, arguments| Box::pin(look(read, asking, arguments))),
    })
}

const JOB: &str = "job";

/// The job first, then what the tool takes. Inside an attempt it is known, so it may be left out.
fn schema(read: &ReadTool) -> JsonObject {
    let mut schema = read.schema.as_object().cloned().unwrap_or_default();
    let mut properties = Map::new();
    let about = "The job; inside the attempt of a job it is known";
    properties.insert(JOB.to_owned(), json!({"type": "string", "description": about}));
    if let Some(Value::Object(own)) = schema.remove("properties") {
        properties.extend(own);
    }
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema
}

async fn look(read: &ReadTool, asking: Asking, arguments: Bytes) -> Result<Told, Problem> {
    let odd = || Problem::new(Kind::Invalid, "the arguments are no object");
    let mut arguments: JsonObject = serde_json::from_slice(&arguments).map_err(|_| odd())?;
    let named = match arguments.remove(JOB) {
        None | Some(Value::Null) => None,
        Some(Value::String(job)) => Some(job),
        Some(other) => return Err(Problem::new(Kind::Invalid, format!("`job` is no text: `{other}`"))),
    };
    let job = match (&asking.place.attempt, named) {
        // Whoever is inside an attempt looks at its own job.
        (Some(OwnAttempt::Phase(own)), named) => own_job(own, named.as_deref())?.to_owned(),
        (_, Some(named)) => named,
        (_, None) => {
            return Err(Problem::new(Kind::Invalid, "`job` is missing").hint("list_runs shows what there is"));
        }
    };
    let told = asking.engine()?.look_with(asking.by(), &job, read, Value::Object(arguments)).await;
    told.map(Told::Json).map_err(|error| {
        let problem = Problem::from(error);
        let hint = match problem.kind {
            Kind::NotFound => "list_runs shows jobs, list_workspace_files files, git_log commits".to_owned(),
            Kind::Invalid => format!("look at the input schema of {}, and call it again", read.name),
            _ => return problem,
        };
        if problem.hint.is_some() { problem } else { problem.hint(hint) }
    })
}
