use axum::http::header;

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
    let by = call.by()?;
    if let Some(session) = call.session() {
        call.engine().end_session(by, &session.id).await?;
    }
    let cookie = session::ended(call.headers(), call.app.transport())?;
    Ok(Reply::new(Who::from(by)).header(header::SET_COOKIE, cookie))
}
