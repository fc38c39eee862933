//! Policies: what is in force, why, and what it would decide.

pub mod classify;
pub mod decide;
pub mod explain;
pub mod show;

use checkrein_core::config::Subject;
use checkrein_core::policy::{Resolution, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Call;
use crate::error::{Kind, Problem};

/// Whose policy is asked for: what `show` and `explain` share.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// What the policy is for; workflow unless a worker is named
    scope: Option<Scope>,
    /// The policy of this worker
    worker: Option<String>,
    /// A level or a JSON block on top, as it would be given at the start of a run
    autonomy: Option<String>,
}

impl Asked {
    fn resolve(&self, call: &Call) -> Result<Resolution, Problem> {
        let (scope, subject) = match (&self.worker, self.scope) {
            (Some(worker), None | Some(Scope::Worker)) => (Scope::Worker, Subject::Worker(worker)),
            (Some(_), Some(scope)) => {
                let detail = format!("`worker` asks for a worker's policy, `scope={scope}` for another");
                return Err(Problem::new(Kind::Malformed, detail).hint("leave `scope` out"));
            }
            (None, scope) => (scope.unwrap_or(Scope::Workflow), Subject::Anyone),
        };
        Ok(call.engine().policy(call.by()?, scope, subject, self.autonomy.as_deref())?)
    }
}

fn object(value: &impl serde::Serialize) -> crate::wire::Object {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::Object(object)) => object,
        _ => crate::wire::Object::new(),
    }
}
