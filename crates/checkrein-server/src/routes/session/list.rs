use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::Problem;
use crate::route::{Access, Route};
use crate::wire::page::{Limit, Page};
use crate::wire::session::Session;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Go on after the part that ended here, as an answer names it in `next`
    after: Option<i64>,
    /// How many at most
    #[serde(default)]
    limit: Limit,
}

pub fn route() -> Route {
    Route::get("/v1/sessions", list)
        .about("listSessions", "Browsers that are signed in: your own, for administrators everybody's")
        .access(Access::Known)
}

async fn list(call: Call, Query(wanted): Query<Wanted>) -> Result<Reply<Page<Session>>, Problem> {
    let (after, limit) = (wanted.after.unwrap_or_default(), wanted.limit.get());
    let page = call.engine().sessions(call.by()?, after, limit).await?;
    let own = call.session().map(|session| session.id.as_str());
    Ok(Reply::new(Page::of(page, |found| Session::of(&found, own))))
}
