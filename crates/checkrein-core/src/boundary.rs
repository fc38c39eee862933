//! The point where the policy is asked.

use std::fmt;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// What an agent has reached. Everything but the kind may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Boundary {
    #[serde(deserialize_with = "some_kind")]
    pub kind: BoundaryKind,
    /// The name of the phase it belongs to.
    #[serde(default)]
    pub phase: Option<String>,
    /// The step or hook that ended, such as `build:compile`.
    #[serde(default)]
    pub step: Option<String>,
    #[serde(default)]
    pub phase_kind: Option<PhaseKind>,
    /// Counted from 1 over phases of both kinds.
    #[serde(default, deserialize_with = "from_one")]
    #[schemars(range(min = 1))]
    pub phase_number: Option<u32>,
    /// The agent says that the whole job is done.
    #[serde(default)]
    pub job_complete: bool,
    /// How sure the agent is, 0 to 1.
    #[serde(default, deserialize_with = "from_zero_to_one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: Option<f64>,
    /// The milestone reached here, by the name the plan gives it.
    #[serde(default)]
    pub milestone: Option<String>,
}

// What a caller got wrong must not read as "nothing to hold for": it is refused.

fn some_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BoundaryKind, D::Error> {
    let name = String::deserialize(deserializer)?;
    BoundaryKind::check_type(&name).map_err(D::Error::custom)?;
    Ok(name.into())
}

fn from_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    match Option::deserialize(deserializer)? {
        Some(0) => Err(D::Error::custom("phases are counted from 1, found `0`")),
        number => Ok(number),
    }
}

fn from_zero_to_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(number) if !(0.0..=1.0).contains(&number) => {
            Err(D::Error::custom(format!("must be from 0 to 1, found `{number}`")))
        }
        number => Ok(number),
    }
}

/// The closed kinds a run has, and any checkpoint type a worker names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum BoundaryKind {
    #[default]
    Step,
    Hook,
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
    /// What is wrong with a checkpoint type. Any other string is one (C1); these are slips of the hand, and a
    /// policy that names one would never hold.
    pub fn check_type(name: &str) -> Result<(), &'static str> {
        match name.trim() {
            "" => Err("is empty"),
            trimmed if trimmed != name => Err("begins or ends with white space"),
            _ => Ok(()),
        }
    }

    /// Every kind but the types workers name.
    pub const ALL: [BoundaryKind; 8] = [
        BoundaryKind::Step,
        BoundaryKind::Hook,
        BoundaryKind::PhaseEntry,
        BoundaryKind::Phase,
        BoundaryKind::Complete,
        BoundaryKind::Deliverable,
        BoundaryKind::FinalOutput,
        BoundaryKind::PhaseTransition,
    ];

    pub fn name(&self) -> &str {
        match self {
            BoundaryKind::Step => "step",
            BoundaryKind::Hook => "hook",
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
        let known = BoundaryKind::ALL.into_iter().find(|kind| kind.name() == name);
        known.unwrap_or(BoundaryKind::Type(name))
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
            "examples": BoundaryKind::ALL
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
