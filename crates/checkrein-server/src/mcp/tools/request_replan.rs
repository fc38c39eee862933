use checkrein_core::run::job::HandIn;
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::asking::Asking;
use super::super::tool::{Needs, Told, Tool};
use super::HandedIn;
use crate::ask::Json;
use crate::error::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Replan {
    /// Why the todos do not lead there; the next plan begins with it
    reason: String,
    /// The job; inside its attempt it is known
    job: Option<String>,
}

pub fn tool() -> Tool {
    Tool::new(
        "request_replan",
        "In a tactical phase of your job: end it early, because its todos do not lead there, and have it planned \
         again. What is done is kept; todos you did not mark as done count as not done.",
        Act::HandIn,
        replan,
    )
    .needs(Needs::Phase)
}

async fn replan(asking: Asking, Json(Replan { reason, job }): Json<Replan>) -> Result<Told, Problem> {
    let piece = HandIn::Replan(reason);
    let result = asking.with_attempt(job.as_deref(), move |files| files.hand_in(piece)).await?;
    let next = "end the phase now: leave the rest of the todos alone; the next phase plans again";
    Told::json(&HandedIn { result, next: next.to_owned() })
}
