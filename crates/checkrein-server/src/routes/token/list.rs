use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::page::{Page, PageWanted};
use crate::wire::token::Token;

pub fn route() -> Route {
    Route::get("/v1/tokens", list).about("listTokens", "Tokens, without their secrets").to(Act::ManageTokens)
}

async fn list(call: Call, Query(wanted): Query<PageWanted>) -> Result<Reply<Page<Token>>, Problem> {
    let tokens = call.engine().tokens(call.by()?).await?;
    Ok(Reply::new(Page::cut(tokens.iter().map(Token::from).collect(), &wanted)))
}
