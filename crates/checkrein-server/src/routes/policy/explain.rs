use checkrein_engine::Act;

use super::Asked;
use crate::answer::Reply;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::Object;

pub fn route() -> Route {
    Route::get("/v1/policies/explain", explain)
        .about("explainPolicy", "Every value of the policy in force, and where it was set")
        .to(Act::Read)
        .refuses(&[Kind::Invalid, Kind::NotFound])
}

async fn explain(call: Call, Query(asked): Query<Asked>) -> Result<Reply<Object>, Problem> {
    Ok(Reply::new(super::object(&super::asked_for(&call, &asked)?)))
}
