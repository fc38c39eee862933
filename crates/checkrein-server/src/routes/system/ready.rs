use crate::answer::Written;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::{Access, Route};

pub fn route() -> Route {
    Route::get("/readyz", ready)
        .about("ready", "Whether the server can work: its store answers, and it is not ending")
        .access(Access::Open)
        .refuses(&[Kind::Unavailable])
}

async fn ready(call: Call, _: Nothing) -> Result<Written, Problem> {
    if call.app.is_ending() {
        return Err(Problem::new(Kind::Unavailable, "the server is ending"));
    }
    call.engine().check_readiness().await?;
    Ok(Written { media_type: "text/plain; charset=utf-8", text: "ready\n".to_owned() })
}
