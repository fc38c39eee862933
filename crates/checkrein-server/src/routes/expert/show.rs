use checkrein_engine::Act;

use crate::answer::Reply;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::expert::Expert;

pub fn route() -> Route {
    Route::get("/v1/experts/{name}", show)
        .about("showExpert", "An expert with everything it extends")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::Invalid])
}

async fn show(call: Call, _: Nothing) -> Result<Reply<Expert>, Problem> {
    let found = call.engine().expert(call.by()?, &call.app.expert_files(), call.path("name"))?;
    Ok(Reply::new(Expert::from(&found)))
}
