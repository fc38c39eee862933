use checkrein_core::run::job::HandIn;
use checkrein_engine::{Act, OwnAttempt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::asking::Asking;
use super::super::tool::{Needs, Told, Tool};
use super::HandedIn;
use crate::ask::Json;
use crate::error::{Kind, Problem};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Response {
    /// How it went; without it, as well as the findings say
    status: Option<Status>,
    /// What you did, or why you cannot go on
    summary: Option<String>,
    /// What is not quite right: texts, or objects with message, severity, category and suggested_fixes
    warnings: Option<Vec<Value>>,
    /// What is wrong, in the same form
    errors: Option<Vec<Value>>,
    /// Paths of what you made
    deliverables: Option<Vec<String>>,
    /// How sure you are, from 0 to 1
    #[schemars(range(min = 0, max = 1))]
    confidence: Option<f64>,
    /// The milestone of the plan that was reached
    milestone: Option<String>,
    /// What it used up
    usage: Option<Usage>,
    /// The job; inside an attempt it is known
    job: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Success,
    Warning,
    Failure,
    /// You cannot go on without a person
    Blocked,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Usage {
    tokens: Option<u64>,
    cost: Option<f64>,
}

pub fn tool() -> Tool {
    Tool::new(
        "report_response",
        "Say how this attempt went, before you end it: what you did, every warning and error, how sure you are. Say \
         it honestly: the policy decides by it whether the work goes on, holds for a person, or stops. Calling it \
         again replaces what you say again.",
        Act::HandIn,
        report,
    )
    .needs(Needs::Attempt)
}

async fn report(asking: Asking, Json(response): Json<Response>) -> Result<Told, Problem> {
    let next = "end the attempt when everything is done; what becomes of it is decided then".to_owned();
    if let Some(OwnAttempt::Step(file)) = asking.place.attempt.clone() {
        let written = of_step(&response);
        let kept = written.clone();
        let working = tokio::task::spawn_blocking(move || OwnAttempt::respond(&file, &written));
        let broken = |error| Problem::new(Kind::Internal, format!("the work broke off: {error}"));
        working.await.map_err(broken)??;
        return Told::json(&HandedIn { result: kept, next });
    }
    let job = response.job.clone();
    let piece = HandIn::Response(of_phase(response));
    let result = asking.with_attempt(job.as_deref(), move |files| files.hand_in(piece)).await?;
    Told::json(&HandedIn { result, next })
}

/// As the result of a phase has it.
fn of_phase(response: Response) -> Map<String, Value> {
    let outcome = match response.status {
        Some(Status::Failure) => Some(json!("failed")),
        Some(Status::Blocked) => Some(json!("blocked")),
        Some(Status::Success | Status::Warning) => Some(json!("phase_done")),
        None => None,
    };
    let fields = [
        ("outcome", outcome),
        ("summary", response.summary.map(Value::from)),
        ("warnings", response.warnings.map(Value::from)),
        ("errors", response.errors.map(Value::from)),
        ("deliverables", response.deliverables.map(Value::from)),
        ("confidence", response.confidence.map(Value::from)),
        ("milestone", response.milestone.map(Value::from)),
        ("usage", response.usage.map(|usage| json!({"tokens": usage.tokens, "cost": usage.cost}))),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// As the response of a step has it.
fn of_step(response: &Response) -> Value {
    let has = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|list| !list.is_empty());
    let status = match response.status {
        // A step has nobody to wait for.
        Some(Status::Blocked) => Status::Failure,
        Some(status) => status,
        None if has(&response.errors) => Status::Failure,
        None if has(&response.warnings) => Status::Warning,
        None => Status::Success,
    };
    json!({
        "status": status,
        "message": response.summary,
        "warnings": response.warnings.clone().unwrap_or_default(),
        "errors": response.errors.clone().unwrap_or_default(),
        "artifacts": response.deliverables.clone().unwrap_or_default(),
    })
}
