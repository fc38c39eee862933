use std::time::Duration;

use checkrein_engine::{Act, SearchRequest};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::search::{By, Search};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// What is searched for: words, or a question
    q: String,
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

impl Wanted {
    pub fn request(self) -> SearchRequest {
        SearchRequest {
            query: self.q,
            by: self.by.into(),
            file: self.file,
            phase: self.phase,
            limit: self.limit.unwrap_or(10).into(),
            patience: Duration::ZERO,
        }
    }
}

pub fn route() -> Route {
    Route::get("/v1/runs/{id}/search", search)
        .about("searchRun", "Searches the workspace a job was last held with, by words and by meaning")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns, Kind::RunRefused, Kind::Invalid])
}

async fn search(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Search>, Problem> {
    let answer = call.engine().search(call.by()?, call.path("id"), &wanted.request()).await?;
    let run = answer.run.clone();
    Ok(Reply::new(Search::from(answer)).about(&run))
}
