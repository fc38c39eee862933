//! A trigger: a boundary kind and the conditions under which it holds.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Scope;
use crate::boundary::{Boundary, BoundaryKind, PhaseKind};

/// When a boundary holds. All conditions must be met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "TriggerShape")]
#[schemars(with = "TriggerShape")]
pub struct Trigger {
    pub on: On,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_kind: Option<PhaseKind>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub first: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_below: Option<f64>,
}

/// The boundaries a trigger listens to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "String")]
pub enum On {
    /// Written `*`.
    Every,
    Kind(BoundaryKind),
}

impl From<On> for String {
    fn from(on: On) -> String {
        match on {
            On::Every => "*".to_owned(),
            On::Kind(kind) => kind.into(),
        }
    }
}

/// A trigger as people write it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Trigger")]
struct TriggerShape {
    /// A boundary kind, a checkpoint type, or `*` for every boundary.
    on: String,
    /// Only phases of this kind.
    #[serde(default)]
    phase_kind: Option<PhaseKind>,
    /// Only the first phase (of that kind).
    #[serde(default)]
    first: bool,
    /// Only every Nth phase (of that kind).
    #[serde(default)]
    #[schemars(range(min = 1))]
    every: Option<u32>,
    /// Only where the plan's milestone of this name is reached.
    #[serde(default)]
    milestone: Option<String>,
    /// Only where the agent is less sure than this (0 to 1), or does not say how sure it is.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    confidence_below: Option<f64>,
}

impl TryFrom<TriggerShape> for Trigger {
    type Error = String;

    fn try_from(shape: TriggerShape) -> Result<Trigger, String> {
        if shape.every == Some(0) {
            return Err("`every` must be at least 1, found `0`".to_owned());
        }
        if let Some(confidence) = shape.confidence_below
            && !(0.0..=1.0).contains(&confidence)
        {
            return Err(format!("`confidence_below` must be from 0 to 1, found `{confidence}`"));
        }
        let on = if shape.on == "*" { On::Every } else { On::Kind(shape.on.into()) };
        Ok(Trigger {
            on,
            phase_kind: shape.phase_kind,
            first: shape.first,
            every: shape.every,
            milestone: shape.milestone,
            confidence_below: shape.confidence_below,
        })
    }
}

impl Trigger {
    /// Fires at every boundary of `kind`.
    pub const fn on(kind: BoundaryKind) -> Trigger {
        Trigger {
            on: On::Kind(kind),
            phase_kind: None,
            first: false,
            every: None,
            milestone: None,
            confidence_below: None,
        }
    }

    /// Fires at every boundary.
    pub const ALWAYS: Trigger = Trigger {
        on: On::Every,
        phase_kind: None,
        first: false,
        every: None,
        milestone: None,
        confidence_below: None,
    };

    /// A condition whose value the boundary does not state is taken as met: what is not known
    /// never lets an agent pass. A milestone is the exception, since most boundaries are none.
    pub fn fires(&self, scope: Scope, boundary: &Boundary) -> bool {
        self.listens(scope, boundary)
            && self.phase_kind.is_none_or(|kind| boundary.phase_kind.is_none_or(|actual| actual == kind))
            && (!self.first || self.ordinal(boundary).is_none_or(|ordinal| ordinal == 1))
            && self.every.is_none_or(|every| self.ordinal(boundary).is_none_or(|n| n.is_multiple_of(every)))
            && self.milestone.as_deref().is_none_or(|name| {
                boundary.milestone.as_deref().is_some_and(|reached| same_milestone(name, reached))
            })
            && self.confidence_below.is_none_or(|least| {
                // A confidence that is no number is not known either.
                !boundary.confidence.is_some_and(|confidence| confidence >= least)
            })
    }

    fn listens(&self, scope: Scope, boundary: &Boundary) -> bool {
        match &self.on {
            On::Every => true,
            On::Kind(kind) if *kind == boundary.kind => true,
            // A job is completed at a phase end, so the two ways to say it are one boundary.
            On::Kind(BoundaryKind::Complete) => scope == Scope::Job && boundary.job_complete,
            On::Kind(BoundaryKind::Phase) => {
                let names_its_phase = boundary.phase_kind.is_some() || boundary.phase_number.is_some();
                scope == Scope::Job && boundary.kind == BoundaryKind::Complete && names_its_phase
            }
            On::Kind(_) => false,
        }
    }

    /// Which phase this is, counted among those the trigger is about. Kinds alternate from
    /// strategic, so the nth of its kind is phase 2n-1 or 2n.
    fn ordinal(&self, boundary: &Boundary) -> Option<u32> {
        match self.phase_kind {
            Some(_) => boundary.phase_number.map(|number| number.div_ceil(2)),
            None => boundary.phase_number,
        }
    }
}

/// Plans are prose: case and outer white space do not make another milestone.
fn same_milestone(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

/// In words, as `policy explain` shows it: `first strategic phase`, `every 3rd phase`.
impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.on {
            On::Every => "every boundary",
            On::Kind(BoundaryKind::Step) => "step",
            On::Kind(BoundaryKind::PhaseEntry) => "phase entry",
            On::Kind(BoundaryKind::Phase) => "phase",
            On::Kind(BoundaryKind::Complete) => "completion",
            On::Kind(kind) => kind.name(),
        };
        match (self.first, self.every) {
            (true, _) => write!(f, "first ")?,
            (false, Some(every)) if every > 1 => write!(f, "every {every}{} ", ordinal_suffix(every))?,
            _ if self.on == On::Every || self.on == On::Kind(BoundaryKind::Complete) => {}
            _ => write!(f, "every ")?,
        }
        if let Some(phase_kind) = self.phase_kind {
            write!(f, "{phase_kind} ")?;
        }
        write!(f, "{kind}")?;
        if let Some(milestone) = &self.milestone {
            write!(f, " with milestone `{milestone}`")?;
        }
        if let Some(confidence) = self.confidence_below {
            write!(f, " with confidence below {confidence}")?;
        }
        Ok(())
    }
}

fn ordinal_suffix(number: u32) -> &'static str {
    match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn fires(trigger: Value, boundary: Value) -> bool {
        let trigger: Trigger = serde_json::from_value(trigger).unwrap();
        trigger.fires(Scope::Job, &serde_json::from_value(boundary).unwrap())
    }

    #[test]
    fn conditions_of_a_trigger() {
        let phase =
            |number: u32, kind: &str| json!({"kind": "phase", "phase_number": number, "phase_kind": kind});
        for (trigger, boundary, expected) in [
            (json!({"on": "*"}), json!({"kind": "anything"}), true),
            (json!({"on": "step"}), json!({"kind": "step"}), true),
            (json!({"on": "step"}), json!({"kind": "phase"}), false),
            (json!({"on": "draft"}), json!({"kind": "draft"}), true),
            (json!({"on": "draft"}), json!({"kind": "Draft"}), false),
            // phase kind
            (json!({"on": "phase", "phase_kind": "strategic"}), phase(3, "strategic"), true),
            (json!({"on": "phase", "phase_kind": "strategic"}), phase(2, "tactical"), false),
            (json!({"on": "phase", "phase_kind": "strategic"}), json!({"kind": "phase"}), true),
            // first
            (json!({"on": "phase", "first": true}), phase(1, "strategic"), true),
            (json!({"on": "phase", "first": true}), phase(2, "tactical"), false),
            (json!({"on": "phase", "phase_kind": "tactical", "first": true}), phase(2, "tactical"), true),
            (json!({"on": "phase", "phase_kind": "strategic", "first": true}), phase(3, "strategic"), false),
            (json!({"on": "phase", "first": true}), json!({"kind": "phase"}), true),
            // every
            (json!({"on": "phase", "every": 3}), phase(3, "strategic"), true),
            (json!({"on": "phase", "every": 3}), phase(4, "tactical"), false),
            (json!({"on": "phase", "every": 3}), phase(6, "tactical"), true),
            (json!({"on": "phase", "phase_kind": "strategic", "every": 2}), phase(3, "strategic"), true),
            (json!({"on": "phase", "phase_kind": "strategic", "every": 2}), phase(5, "strategic"), false),
            (json!({"on": "phase", "every": 3}), json!({"kind": "phase"}), true),
            // milestone
            (
                json!({"on": "phase", "milestone": "schema agreed"}),
                json!({"kind": "phase", "milestone": "Schema agreed "}),
                true,
            ),
            (
                json!({"on": "phase", "milestone": "schema agreed"}),
                json!({"kind": "phase", "milestone": "other"}),
                false,
            ),
            (json!({"on": "phase", "milestone": "schema agreed"}), json!({"kind": "phase"}), false),
            // confidence: strictly below, and unknown holds
            (
                json!({"on": "phase", "confidence_below": 0.7}),
                json!({"kind": "phase", "confidence": 0.69}),
                true,
            ),
            (
                json!({"on": "phase", "confidence_below": 0.7}),
                json!({"kind": "phase", "confidence": 0.7}),
                false,
            ),
            (json!({"on": "phase", "confidence_below": 0.7}), json!({"kind": "phase"}), true),
            // two ways to say that a job is complete
            (json!({"on": "complete"}), json!({"kind": "complete"}), true),
            (json!({"on": "complete"}), json!({"kind": "phase", "job_complete": true}), true),
            (json!({"on": "phase", "every": 3}), json!({"kind": "complete", "phase_number": 3}), true),
            (json!({"on": "phase", "every": 3}), json!({"kind": "complete", "phase_number": 4}), false),
            (json!({"on": "phase", "every": 3}), json!({"kind": "complete"}), false),
        ] {
            assert_eq!(fires(trigger.clone(), boundary.clone()), expected, "{trigger} at {boundary}");
        }
    }

    #[test]
    fn only_a_job_is_complete_at_a_phase_end() {
        let trigger = Trigger::on(BoundaryKind::Complete);
        let boundary = Boundary { kind: BoundaryKind::Phase, job_complete: true, ..Boundary::default() };
        assert!(trigger.fires(Scope::Job, &boundary));
        assert!(!trigger.fires(Scope::Workflow, &boundary));
    }

    #[test]
    fn triggers_read_as_words() {
        for (trigger, expected) in [
            (json!({"on": "*"}), "every boundary"),
            (json!({"on": "phase"}), "every phase"),
            (json!({"on": "complete"}), "completion"),
            (json!({"on": "phase", "phase_kind": "strategic", "first": true}), "first strategic phase"),
            (json!({"on": "phase", "every": 3}), "every 3rd phase"),
            (json!({"on": "phase", "every": 12, "phase_kind": "tactical"}), "every 12th tactical phase"),
            (json!({"on": "deliverable"}), "every deliverable"),
            (
                json!({"on": "phase", "milestone": "schema agreed"}),
                "every phase with milestone `schema agreed`",
            ),
            (json!({"on": "phase", "confidence_below": 0.7}), "every phase with confidence below 0.7"),
        ] {
            let parsed: Trigger = serde_json::from_value(trigger.clone()).unwrap();
            assert_eq!(parsed.to_string(), expected);
            assert_eq!(serde_json::to_value(&parsed).unwrap(), trigger, "written as it was read");
        }
    }
}
