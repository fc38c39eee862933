use crate::answer::Reply;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::{Access, Route};
use crate::wire::session::Session;

pub fn route() -> Route {
    Route::delete("/v1/sessions/{id}", end)
        .about("endOneSession", "Sign a browser out elsewhere: your own, for administrators anybody's")
        .access(Access::Known)
        .refuses(&[Kind::NotFound])
}

async fn end(call: Call) -> Result<Reply<Session>, Problem> {
    let ended = call.engine().end_session(call.by()?, call.path("id")).await?;
    let own = call.session().map(|session| session.id.as_str());
    Ok(Reply::new(Session::of(&ended, own)))
}
