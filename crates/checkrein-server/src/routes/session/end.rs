use axum::http::{HeaderValue, header};

use super::Who;
use crate::answer::Reply;
use crate::call::Call;
use crate::error::Problem;
use crate::route::{Access, Route};
use crate::session;

pub fn route() -> Route {
    Route::delete("/v1/session", end).about("endSession", "Sign a browser out").access(Access::Known)
}

async fn end(call: Call) -> Result<Reply<Who>, Problem> {
    let cookie = signed_out(&call).await?;
    Ok(Reply::new(Who::from(call.by()?)).header(header::SET_COOKIE, cookie))
}

/// Ends the session of whoever asks; the cookie that says so.
pub async fn signed_out(call: &Call) -> Result<HeaderValue, Problem> {
    if let Some(session) = call.session() {
        call.engine().end_session(call.by()?, &session.id).await?;
    }
    session::ended(call.headers(), call.app.transport())
}
