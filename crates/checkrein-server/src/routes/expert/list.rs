use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::expert::ExpertItem;
use crate::wire::page::{Page, PageWanted};

pub fn route() -> Route {
    Route::get("/v1/experts", list)
        .about("listExperts", "All experts there are, and how far their agents may go")
        .to(Act::Read)
}

async fn list(call: Call, Query(wanted): Query<PageWanted>) -> Result<Reply<Page<ExpertItem>>, Problem> {
    let rows = call.engine().experts(call.by()?, &call.app.expert_files())?;
    let shown = |path: &std::path::Path| path.display().to_string();
    let items = rows.iter().map(|row| ExpertItem::of(row, shown)).collect();
    Ok(Reply::new(Page::cut(items, &wanted)))
}
