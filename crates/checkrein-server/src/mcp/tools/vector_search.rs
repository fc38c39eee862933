use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::asking::Asking;
use super::super::tool::{Told, Tool};
use crate::ask::Json;
use crate::error::Problem;
use crate::wire::search::{By, Search};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The job
    job: String,
    /// What is searched for: words, or a question
    query: String,
    /// How texts are looked for
    #[serde(default)]
    by: By,
    /// Only in this file, this directory, or files of this pattern
    file: Option<String>,
    /// Only in files this phase changed last: its name or its number
    phase: Option<String>,
    /// How many at most, 10 by default
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u8>,
}

pub fn tool() -> Tool {
    Tool::new(
        "vector_search",
        "Searches the workspace a job was last held with by meaning and by words: documents, plans, todos, the archive. \
         Says file, heading, lines and the passage.",
        Act::Read,
        search,
    )
}

async fn search(asking: Asking, Json(wanted): Json<Wanted>) -> Result<Told, Problem> {
    let request = checkrein_engine::SearchRequest {
        query: wanted.query,
        by: wanted.by.into(),
        file: wanted.file,
        phase: wanted.phase,
        limit: wanted.limit.unwrap_or(10).into(),
        patience: std::time::Duration::ZERO,
    };
    let found = asking.engine()?.search(asking.by(), &wanted.job, &request).await;
    let found = found.map_err(|error| super::not_found(error, "list_runs shows what there is"))?;
    Told::json(&Search::from(found))
}
