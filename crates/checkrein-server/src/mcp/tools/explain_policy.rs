use checkrein_engine::Act;

use super::super::asking::Asking;
use super::super::tool::{Told, Tool};
use crate::ask::MaybeJson;
use crate::error::Problem;
use crate::routes::PolicyAsked;

pub fn tool() -> Tool {
    Tool::new(
        "explain_policy",
        "Every value of the policy in force, and where it was set.",
        Act::Read,
        explain,
    )
}

async fn explain(asking: Asking, MaybeJson(asked): MaybeJson<PolicyAsked>) -> Result<Told, Problem> {
    let experts = (asking.place.experts)();
    Told::json(&asked.resolve(asking.engine()?, asking.by(), &experts)?)
}
