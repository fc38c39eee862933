use checkrein_engine::Act;

use crate::answer::Reply;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::token::Token;

pub fn route() -> Route {
    Route::delete("/v1/tokens/{id}", revoke)
        .about("revokeToken", "Make a token worthless")
        .to(Act::ManageTokens)
        .refuses(&[Kind::NotFound])
}

async fn revoke(call: Call) -> Result<Reply<Token>, Problem> {
    let token = call.engine().revoke_token(call.by()?, call.path("id")).await?;
    Ok(Reply::new(Token::from(&token)))
}
