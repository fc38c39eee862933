use checkrein_engine::Act;
use serde_json::json;

use super::super::asking::Asking;
use super::super::tool::{Needs, Told, Tool};
use super::OfJob;
use crate::ask::MaybeJson;
use crate::error::Problem;

pub fn tool() -> Tool {
    Tool::new(
        "get_review",
        "What a person wants changed in this phase: who, why, in which files, every comment, and what people changed \
         on the branch themselves. `review` is null where nobody requested changes.",
        Act::HandIn,
        review,
    )
    .needs(Needs::Phase)
    .looks()
}

async fn review(asking: Asking, MaybeJson(OfJob { job }): MaybeJson<OfJob>) -> Result<Told, Problem> {
    let brief = asking.with_attempt(job.as_deref(), |files| files.brief()).await?;
    Ok(Told::Json(json!({
        "job": brief.job,
        "task": brief.task,
        "level": brief.level,
        "phase": brief.phase,
        "review": brief.review,
        "comments": brief.comments,
        "conflict": brief.conflict,
        "human_commits": brief.human_commits,
        "human_diff": brief.human_diff,
        "plan": brief.plan,
    })))
}
