//! An expert as programs see it.

use std::time::Duration;

use checkrein_core::duration::Written;
use checkrein_core::policy::{Policy, Trigger};
use checkrein_core::run::job::Merge;
use checkrein_engine::{ExpertRow, FoundExpert};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Object;

/// An expert in a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExpertItem {
    pub name: String,
    pub level: Option<String>,
    pub description: Option<String>,
    /// Its file, or `built in`
    pub source: String,
}

impl ExpertItem {
    pub fn of(row: &ExpertRow, shown: impl Fn(&std::path::Path) -> String) -> ExpertItem {
        ExpertItem {
            name: row.name.clone(),
            level: row.level.clone(),
            description: row.description.clone(),
            source: row.file.as_deref().map_or_else(|| "built in".to_owned(), shown),
        }
    }
}

/// An expert with everything it extends.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Expert {
    pub name: String,
    pub description: Option<String>,
    pub extends: Vec<String>,
    pub level: Option<String>,
    #[schemars(with = "Vec<Object>")]
    pub hold_at: Vec<Trigger>,
    #[schemars(with = "Object")]
    pub policy: Policy,
    pub agent: Option<String>,
    pub instructions: Option<String>,
    pub merge: Merge,
    /// Such as `2h`, or `none`
    pub timeout: String,
    pub idle_timeout: String,
    pub environment: Vec<String>,
    pub disk_bytes: u64,
    pub sandbox: bool,
}

impl From<&FoundExpert> for Expert {
    fn from(found: &FoundExpert) -> Expert {
        let FoundExpert { expert, resolution, job, agent } = found;
        let policy = &resolution.policy;
        Expert {
            name: expert.name.clone(),
            description: expert.description.clone(),
            extends: expert.extends().into_iter().map(|name| name.to_string()).collect(),
            level: policy.level.clone(),
            hold_at: policy.hold_at.clone(),
            policy: policy.clone(),
            agent: agent.clone(),
            instructions: job.instructions.clone(),
            merge: job.merge,
            timeout: time(job.timeout),
            idle_timeout: time(job.idle_timeout),
            environment: job.environment.clone(),
            disk_bytes: job.disk_bytes,
            sandbox: job.sandbox,
        }
    }
}

/// How long, or `none`.
pub fn time(time: Option<Duration>) -> String {
    time.map_or_else(|| "none".to_owned(), |time| Written(time).to_string())
}
