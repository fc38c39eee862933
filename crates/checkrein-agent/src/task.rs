//! What an attempt's agent is started with: a file its engine writes.

use std::path::{Path, PathBuf};

use checkrein_core::boundary::PhaseKind;
use checkrein_core::config::agent::{AgentSpec, Permissions};
use serde::{Deserialize, Serialize};

use crate::regular;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentTask {
    pub spec: AgentSpec,
    /// What it is told.
    pub brief: PathBuf,
    /// Of the phase of a job; a step of a workflow has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PhaseKind>,
    pub level: String,
    pub sandboxed: bool,
    /// The session of the round before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What its budget leaves for it, in dollars, where that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_left: Option<f64>,
    /// Where messages of people appear while it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<PathBuf>,
    /// Where what was asked of a model is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<PathBuf>,
    /// A directory of its own that it finds again in the next attempt.
    pub home: PathBuf,
    /// This program, which agents call as `checkrein mcp`.
    pub checkrein: PathBuf,
    /// Names of datasources, and the variables their addresses are in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datasources: Vec<(String, String)>,
    /// Where the job's own files are, seen from where the agent works.
    #[serde(default)]
    pub own_files: String,
}

/// What a person says to an agent that works; the file of messages is a list of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonMessage {
    pub id: String,
    pub by: String,
    pub text: String,
}

impl AgentTask {
    pub fn read(path: &Path) -> Result<AgentTask, String> {
        let text = regular::read(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
        serde_json::from_slice(&text).map_err(|error| format!("`{}`: {error}", path.display()))
    }

    /// What its own rules let it do.
    pub fn permissions(&self) -> Permissions {
        let free = self.sandboxed || self.level == "full";
        self.spec.permissions.unwrap_or(if free { Permissions::All } else { Permissions::Workspace })
    }

    /// Messages that are there by now.
    pub fn messages(&self) -> Vec<PersonMessage> {
        let text = self.messages.as_ref().and_then(|path| regular::read(path).ok()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    pub fn is_job(&self) -> bool {
        self.kind.is_some()
    }
}

impl PersonMessage {
    /// As the agent reads it.
    pub fn told(&self) -> String {
        format!("A message of {} ({}), while you work:\n\n{}", self.by, self.id, self.text)
    }
}
