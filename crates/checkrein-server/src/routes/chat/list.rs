use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::chat::OpenChat;
use crate::wire::page::{Page, PageWanted};

/// Nobody has begun more that are not forgotten yet.
const CHATS_MAX: usize = 1000;

pub fn route() -> Route {
    Route::get("/v1/chats", list)
        .about(
            "listChats",
            "Your conversations that have led to no job yet, the newest first; an administrator sees everybody's",
        )
        .to(Act::ReadChat)
}

async fn list(call: Call, Query(wanted): Query<PageWanted>) -> Result<Reply<Page<OpenChat>>, Problem> {
    let found = call.engine().open_chats(call.by()?, CHATS_MAX).await?;
    Ok(Reply::new(Page::cut(found.into_iter().map(OpenChat::from).collect(), &wanted)))
}
