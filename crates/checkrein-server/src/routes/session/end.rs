use axum::http::header;

use super::Who;
use crate::answer::Reply;
use crate::call::Call;
use crate::error::Problem;
use crate::route::{Access, Route};
use crate::session::{self, MadeFor};

pub fn route() -> Route {
    Route::delete("/v1/session", end).about("endSession", "Sign a browser out").access(Access::Known)
}

async fn end(call: Call) -> Result<Reply<Who>, Problem> {
    let by = call.by()?;
    let made_for = call.session().map(|session| session.made_for);
    if made_for == Some(MadeFor::Session) {
        call.engine().revoke_own_token(by).await?;
    }
    let cookie = session::ended(call.app.transport())?;
    Ok(Reply::new(Who::from(by)).header(header::SET_COOKIE, cookie))
}
