use checkrein_engine::{Act, Decided};

use super::super::asking::Asking;
use super::super::tool::{Told, Tool};
use crate::error::Problem;
use crate::routes::{Decision, DecisionAsked};

pub fn tool() -> Tool {
    Tool::new(
        "decide_policy",
        "What a policy would decide in a situation, and why; it reads nothing but the request and changes nothing. \
         Only `scope` and `boundary.kind` are required.",
        Act::Read,
        decide,
    )
}

async fn decide(asking: Asking, DecisionAsked(request): DecisionAsked) -> Result<Told, Problem> {
    let Decided { answer, odd } = asking.engine()?.decide(asking.by(), &request)?;
    Told::json(&Decision { answer, warnings: odd })
}
