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
struct Reply {
    /// The id of the comment, such as c1
    id: String,
    /// What you did about it, or why not
    text: String,
    /// The job; inside its attempt it is known
    job: Option<String>,
}

pub fn tool() -> Tool {
    Tool::new(
        "reply_comment",
        "Answer a comment on your work: what you did, or why not. It is shown to people when the phase ends; a second \
         reply to the same comment takes the place of the first.",
        Act::HandIn,
        reply,
    )
    .needs(Needs::Phase)
}

async fn reply(asking: Asking, Json(Reply { id, text, job }): Json<Reply>) -> Result<Told, Problem> {
    let piece = HandIn::Reply { comment: id, text };
    let result = asking.with_attempt(job.as_deref(), move |files| files.hand_in(piece)).await?;
    Told::json(&HandedIn { result, next: "reply to every open comment before you end the phase".to_owned() })
}
