//! The point where the policy is asked.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an agent has reached. Everything but the kind may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Boundary {
    pub kind: BoundaryKind,
    /// The name of the phase it belongs to.
    #[serde(default)]
    pub phase: Option<String>,
    #[serde(default)]
    pub phase_kind: Option<PhaseKind>,
    /// Counted from 1 over phases of both kinds.
    #[serde(default)]
    pub phase_number: Option<u32>,
    /// The agent says that the whole job is done.
    #[serde(default)]
    pub job_complete: bool,
    /// How sure the agent is, 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The milestone reached here, by the name the plan gives it.
    #[serde(default)]
    pub milestone: Option<String>,
}

/// The closed kinds a run has, and any checkpoint type a worker names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum BoundaryKind {
    #[default]
    Step,
    PhaseEntry,
    Phase,
    Complete,
    Deliverable,
    FinalOutput,
    PhaseTransition,
    /// Types are case-sensitive and any string is one (C1).
    Type(String),
}

impl BoundaryKind {
    pub fn name(&self) -> &str {
        match self {
            BoundaryKind::Step => "step",
            BoundaryKind::PhaseEntry => "phase_entry",
            BoundaryKind::Phase => "phase",
            BoundaryKind::Complete => "complete",
            BoundaryKind::Deliverable => "deliverable",
            BoundaryKind::FinalOutput => "final_output",
            BoundaryKind::PhaseTransition => "phase_transition",
            BoundaryKind::Type(name) => name,
        }
    }
}

impl From<String> for BoundaryKind {
    fn from(name: String) -> BoundaryKind {
        match name.as_str() {
            "step" => BoundaryKind::Step,
            "phase_entry" => BoundaryKind::PhaseEntry,
            "phase" => BoundaryKind::Phase,
            "complete" => BoundaryKind::Complete,
            "deliverable" => BoundaryKind::Deliverable,
            "final_output" => BoundaryKind::FinalOutput,
            "phase_transition" => BoundaryKind::PhaseTransition,
            _ => BoundaryKind::Type(name),
        }
    }
}

impl From<BoundaryKind> for String {
    fn from(kind: BoundaryKind) -> String {
        kind.name().to_owned()
    }
}

impl fmt::Display for BoundaryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl JsonSchema for BoundaryKind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BoundaryKind".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A boundary of a run, or any checkpoint type.",
            "type": "string",
            "examples": ["step", "phase_entry", "phase", "complete", "deliverable", "final_output", "phase_transition"]
        })
    }
}

/// Strategic phases plan and look back, tactical ones do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PhaseKind {
    Strategic,
    Tactical,
}

impl fmt::Display for PhaseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PhaseKind::Strategic => "strategic",
            PhaseKind::Tactical => "tactical",
        })
    }
}
