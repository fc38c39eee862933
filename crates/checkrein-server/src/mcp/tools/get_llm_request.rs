use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::asking::Asking;
use super::super::tool::{Told, Tool};
use crate::ask::Json;
use crate::error::{Kind, Problem};
use crate::wire::activity::LlmRequest;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The run or job
    run: String,
    /// The request, as START.NUMBER; without it all are listed
    request: Option<String>,
}

pub fn tool() -> Tool {
    Tool::new(
        "get_llm_request",
        "What the built-in agent of a run asked of its model: a list, or one request with its answer, whole and without secrets.",
        Act::Read,
        get,
    )
}

async fn get(asking: Asking, Json(wanted): Json<Wanted>) -> Result<Told, Problem> {
    let engine = asking.engine()?;
    let found = engine.model_requests(asking.by(), &wanted.run, wanted.request.as_deref()).await;
    let found = found.map_err(|error| super::not_found(error, "list_runs shows what there is"))?;
    let whole = wanted.request.is_some();
    let mut found: Vec<LlmRequest> = found.into_iter().map(|one| LlmRequest::of(one, whole)).collect();
    match (wanted.request, found.pop()) {
        (Some(_), Some(one)) => Told::json(&one),
        (Some(request), None) => {
            Err(Problem::new(Kind::NotFound, format!("there is no request `{request}`"))
                .hint("without `request` all are listed"))
        }
        (None, last) => {
            found.extend(last);
            Told::json(&serde_json::json!({"requests": found}))
        }
    }
}
