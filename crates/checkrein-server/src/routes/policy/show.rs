use checkrein_core::policy::Shown;
use checkrein_engine::Act;

use super::Asked;
use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::Object;

pub fn route() -> Route {
    Route::get("/v1/policies", show)
        .about("showPolicy", "The policy in force")
        .to(Act::Read)
        .refuses(&[Kind::Invalid, Kind::NotFound])
}

async fn show(call: Call, Query(asked): Query<Asked>) -> Result<Reply<Object>, Problem> {
    let resolution = super::asked_for(&call, &asked)?;
    Ok(Reply::new(super::object(&Shown::of(&resolution))))
}
