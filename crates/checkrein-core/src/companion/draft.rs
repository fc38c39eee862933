//! A job that is being thought about: what it would be given.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a conversation before a job has come to. It is no job until a person gives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Draft {
    /// What is to be done
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Who does it: the name of an expert
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expert: Option<String>,
    /// How far the agent may go: full, review, partial, guided or dependent
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<String>,
    /// What an expert's file may say, for this job alone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_override: Option<serde_json::Map<String, serde_json::Value>>,
}

impl Draft {
    pub fn is_empty(&self) -> bool {
        *self == Draft::default()
    }

    /// What is said anew replaces what was said; the rest stays.
    pub fn updated(self, by: Draft) -> Draft {
        Draft {
            description: if by.description.trim().is_empty() { self.description } else { by.description },
            expert: by.expert.or(self.expert),
            autonomy: by.autonomy.or(self.autonomy),
            config_override: by.config_override.or(self.config_override),
        }
    }
}
