use super::Who;
use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::Problem;
use crate::route::{Access, Route};

pub fn route() -> Route {
    Route::get("/v1/session", show).about("showSession", "Who you are to the server").access(Access::Known)
}

async fn show(call: Call, _: Nothing) -> Result<Reply<Who>, Problem> {
    Ok(Reply::new(Who::from(call.by()?)))
}
