use checkrein_engine::Act;
use serde_json::{Value, json};

use super::super::asking::Asking;
use super::super::tool::{Needs, Told, Tool};
use super::OfJob;
use crate::ask::MaybeJson;
use crate::error::Problem;

pub fn tool() -> Tool {
    Tool::new(
        "get_comments",
        "What people wrote about the work of this phase, at a line, a file or the whole, with what was replied. \
         Those in `new` want a reply; those in `earlier` you were given before.",
        Act::HandIn,
        comments,
    )
    .needs(Needs::Phase)
    .looks()
}

async fn comments(asking: Asking, MaybeJson(OfJob { job }): MaybeJson<OfJob>) -> Result<Told, Problem> {
    let read = |files: &checkrein_engine::AttemptFiles| Ok((files.brief()?, files.result()?));
    let (brief, result) = asking.with_attempt(job.as_deref(), read).await?;
    let replies = result.get("comment_replies").cloned().unwrap_or_else(|| Value::Array(Vec::new()));
    Ok(Told::Json(json!({"comments": brief.comments, "replies": replies})))
}
