use crate::answer::Written;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::Problem;
use crate::route::{Access, Route};

pub fn route() -> Route {
    Route::get("/healthz", health).about("health", "Whether the server is there").access(Access::Open)
}

async fn health(_: Call, _: Nothing) -> Result<Written, Problem> {
    Ok(Written { media_type: "text/plain; charset=utf-8", text: "ok\n".to_owned() })
}
