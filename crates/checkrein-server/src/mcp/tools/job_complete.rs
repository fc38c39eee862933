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
struct Complete {
    /// What was done in the whole job
    summary: Option<String>,
    /// The job; inside its attempt it is known
    job: Option<String>,
}

pub fn tool() -> Tool {
    Tool::new(
        "job_complete",
        "In a strategic phase of your job: say that nothing is left to do. Only strategic phases may, and only while \
         no todos are handed in for the next one. It is what you say, not an approval: a person may have to look.",
        Act::HandIn,
        complete,
    )
    .needs(Needs::Phase)
}

async fn complete(asking: Asking, Json(Complete { summary, job }): Json<Complete>) -> Result<Told, Problem> {
    let piece = HandIn::JobComplete { summary };
    let result = asking.with_attempt(job.as_deref(), move |files| files.hand_in(piece)).await?;
    let next = "end the phase; whether a person looks at the result first is not yours to say";
    Told::json(&HandedIn { result, next: next.to_owned() })
}
