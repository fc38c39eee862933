use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::token::Token;

pub fn route() -> Route {
    Route::get("/v1/tokens", list).about("listTokens", "Tokens, without their secrets").to(Act::ManageTokens)
}

async fn list(call: Call, _: Nothing) -> Result<Reply<Vec<Token>>, Problem> {
    let tokens = call.engine().tokens(call.by()?).await?;
    Ok(Reply::new(tokens.iter().map(Token::from).collect()))
}
