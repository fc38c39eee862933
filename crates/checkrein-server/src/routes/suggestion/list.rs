use checkrein_core::frame::{Suggestion, SuggestionFilter, SuggestionStatus};
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::page::{Limit, Page};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only of this session
    session: Option<String>,
    /// Only those in this status
    status: Option<SuggestionStatus>,
    /// How many at most
    #[serde(default)]
    limit: Limit,
    /// Go on before this cursor, as an answer names it in `next`
    before: Option<i64>,
}

pub fn route() -> Route {
    Route::get("/v1/suggestions", list)
        .about("listSuggestions", "Suggestions of all sessions, the newest first")
        .to(Act::Read)
}

async fn list(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Page<Suggestion>>, Problem> {
    let Wanted { session, status, limit, before } = wanted;
    let filter = SuggestionFilter { session, owner: None, status };
    let page = call.engine().suggestions(call.by()?, filter, before, limit.get()).await?;
    Ok(Reply::new(Page::of(page, |suggestion| suggestion)))
}
