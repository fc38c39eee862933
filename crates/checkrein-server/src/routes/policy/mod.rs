//! Policies: what is in force, why, and what it would decide.

pub mod classify;
pub mod decide;
pub mod explain;
pub mod show;

use std::path::PathBuf;

use checkrein_core::config::Subject;
use checkrein_core::policy::{Resolution, Scope};
use checkrein_core::principal::Principal;
use checkrein_engine::Engine;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Call;
use crate::error::{Kind, Problem};

/// Whose policy is asked for: what `show` and `explain` share.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// What the policy is for; workflow unless a worker is named
    pub scope: Option<Scope>,
    /// The policy of this worker
    pub worker: Option<String>,
    /// The policy of this expert's jobs
    pub expert: Option<String>,
    /// A level or a JSON block on top, as it would be given at the start of a run
    pub autonomy: Option<String>,
}

impl Asked {
    pub fn resolve(
        &self,
        engine: &Engine,
        by: &Principal,
        experts: &[(String, PathBuf)],
    ) -> Result<Resolution, Problem> {
        let expert = match &self.expert {
            Some(name) => Some(engine.expert(by, experts, name)?.expert),
            None => None,
        };
        let (implied, subject) = match (&self.worker, &expert) {
            (Some(worker), None) => (Some(Scope::Worker), Subject::Worker(worker)),
            (None, Some(expert)) => (Some(Scope::Job), Subject::Expert(expert)),
            (None, None) => (None, Subject::Anyone),
            (Some(_), Some(_)) => {
                return Err(Problem::new(
                    Kind::Malformed,
                    "`worker` and `expert` ask for different policies",
                ));
            }
        };
        let scope = match (self.scope, implied) {
            (Some(given), Some(implied)) if given != implied => {
                let detail = format!("a {implied} is named, and `scope` is {given}");
                return Err(Problem::new(Kind::Malformed, detail).hint("leave `scope` out"));
            }
            (given, implied) => given.or(implied).unwrap_or(Scope::Workflow),
        };
        Ok(engine.policy(by, scope, subject, self.autonomy.as_deref())?)
    }
}

/// The policy a request is about.
fn asked_for(call: &Call, asked: &Asked) -> Result<Resolution, Problem> {
    asked.resolve(call.engine(), call.by()?, &call.app.expert_files())
}

fn object(value: &impl serde::Serialize) -> crate::wire::Object {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::Object(object)) => object,
        _ => crate::wire::Object::new(),
    }
}
