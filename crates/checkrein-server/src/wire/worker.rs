//! A worker as programs see it.

use checkrein_core::config::Reviewer;
use checkrein_core::policy::Shown;
use checkrein_engine::WorkerView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Object;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Worker {
    pub name: String,
    /// Whether the settings have an entry of its own
    pub declared: bool,
    /// Who gives its verdicts: `pending` is a person, `auto-approve` nobody
    pub reviewer: String,
    /// What is in force for it, as `GET /v1/policies?worker=NAME` shows it
    pub policy: Object,
    /// How many of its checkpoints wait for a person; 1000 are that many or more
    pub pending: usize,
}

impl From<&WorkerView> for Worker {
    fn from(view: &WorkerView) -> Worker {
        let policy = match serde_json::to_value(Shown::of(&view.policy)) {
            Ok(serde_json::Value::Object(object)) => object,
            _ => Object::new(),
        };
        let reviewer = match view.reviewer {
            Reviewer::AutoApprove => "auto-approve",
            Reviewer::Pending => "pending",
        };
        Worker {
            name: view.name.clone(),
            declared: view.declared,
            reviewer: reviewer.to_owned(),
            policy,
            pending: view.pending,
        }
    }
}
