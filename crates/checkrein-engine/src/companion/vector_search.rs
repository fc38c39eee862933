use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ReadTool, told};
use crate::{SearchBy, SearchRequest};

/// What is searched for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct SearchWanted {
    /// Words, or a question
    pub query: String,
    /// How texts are looked for
    #[serde(default)]
    pub by: SearchBy,
    /// Only in this file, this directory, or files of this pattern
    pub file: Option<String>,
    /// Only in files this phase changed last: its name or its number
    pub phase: Option<String>,
    /// How many at most, 10 by default
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<usize>,
}

/// What was just frozen is read before the answer, if that is soon done.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<SearchWanted>(
        "vector_search",
        "Searches the workspace a job was last held with by meaning and by words: documents, plans, todos, the archive. \
         Says file, heading, lines and the passage.",
        |engine, by, job, wanted| {
            Box::pin(async move {
                let request = SearchRequest {
                    query: wanted.query,
                    by: wanted.by,
                    file: wanted.file,
                    phase: wanted.phase,
                    limit: wanted.limit.unwrap_or(10),
                    patience: PATIENCE,
                };
                told(&engine.search(by, job, &request).await?)
            })
        },
    )
}
