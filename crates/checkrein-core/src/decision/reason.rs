//! Why: each rule that spoke, in words people script against.

use std::fmt;

use super::{LimitReached, Outcome};
use crate::boundary::{Boundary, BoundaryKind};
use crate::finding::{Finding, FindingKind};
use crate::policy::{On, OnLimit, Scope, Trigger};

/// The rules, the one that is named first among equals first.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub enum Rule {
    #[serde(rename = "limit.warnings")]
    LimitWarnings,
    #[serde(rename = "limit.errors")]
    LimitErrors,
    #[serde(rename = "tolerance.error")]
    ToleranceError,
    #[serde(rename = "tolerance.warning")]
    ToleranceWarning,
    #[serde(rename = "gate")]
    Gate,
    #[serde(rename = "trigger")]
    Trigger,
    // What follows holds at the end of a job's phase, whatever `decide` says.
    #[schemars(skip)]
    #[serde(rename = "rework")]
    Rework,
    #[schemars(skip)]
    #[serde(rename = "protected_path")]
    ProtectedPath,
    #[schemars(skip)]
    #[serde(rename = "conflict")]
    Conflict,
    #[schemars(skip)]
    #[serde(rename = "todos")]
    Todos,
    #[schemars(skip)]
    #[serde(rename = "budget")]
    Budget,
    #[schemars(skip)]
    #[serde(rename = "max_phases")]
    MaxPhases,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::LimitWarnings => "limit.warnings",
            Rule::LimitErrors => "limit.errors",
            Rule::ToleranceError => "tolerance.error",
            Rule::ToleranceWarning => "tolerance.warning",
            Rule::Gate => "gate",
            Rule::Trigger => "trigger",
            Rule::Rework => "rework",
            Rule::ProtectedPath => "protected_path",
            Rule::Conflict => "conflict",
            Rule::Todos => "todos",
            Rule::Budget => "budget",
            Rule::MaxPhases => "max_phases",
        })
    }
}

/// One rule that spoke. Its text is made only when somebody reads it.
#[derive(Clone, Copy, Debug)]
pub enum Reason<'a> {
    Limit { kind: FindingKind, reached: LimitReached },
    Exceeds { finding: &'a Finding, outcome: Outcome },
    Gate { phase: Option<&'a str> },
    Trigger { trigger: &'a Trigger, scope: Scope, boundary: &'a Boundary },
}

impl Reason<'_> {
    pub fn rule(&self) -> Rule {
        match self {
            Reason::Limit { kind: FindingKind::Warning, .. } => Rule::LimitWarnings,
            Reason::Limit { kind: FindingKind::Error, .. } => Rule::LimitErrors,
            Reason::Exceeds { finding, .. } => match finding.kind {
                FindingKind::Warning => Rule::ToleranceWarning,
                FindingKind::Error => Rule::ToleranceError,
            },
            Reason::Gate { .. } => Rule::Gate,
            Reason::Trigger { .. } => Rule::Trigger,
        }
    }

    pub fn outcome(&self) -> Outcome {
        match self {
            Reason::Limit { reached, .. } => match reached.action {
                OnLimit::Stop => Outcome::Stop,
                OnLimit::Truncate => Outcome::Proceed,
            },
            Reason::Exceeds { outcome, .. } => *outcome,
            Reason::Gate { .. } | Reason::Trigger { .. } => Outcome::Hold,
        }
    }

    pub(super) fn is_finding(&self) -> bool {
        matches!(self, Reason::Exceeds { .. })
    }
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Limit { kind, reached } => match reached.action {
                OnLimit::Stop => {
                    write!(f, "Global limit reached: {}/{} {}", reached.actual, reached.limit, kind.plural())
                }
                OnLimit::Truncate => write!(f, "Limit reached, truncating collection: {}", kind.plural()),
            },
            Reason::Exceeds { finding, .. } => {
                write!(f, "{} exceeds tolerance: {}", finding.kind, finding.text)
            }
            Reason::Gate { phase: Some(phase) } => write!(f, "Phase `{phase}` starts only after an approval"),
            Reason::Gate { phase: None } => write!(f, "A phase nobody named starts only after an approval"),
            Reason::Trigger { trigger, scope, boundary } => trigger_text(f, trigger, *scope, boundary),
        }
    }
}

fn trigger_text(
    f: &mut fmt::Formatter<'_>,
    trigger: &Trigger,
    scope: Scope,
    boundary: &Boundary,
) -> fmt::Result {
    if scope == Scope::Workflow {
        let what = match (&boundary.kind, boundary.step.as_deref().or(boundary.phase.as_deref())) {
            (BoundaryKind::Complete, _) => "workflow",
            (BoundaryKind::Step | BoundaryKind::Hook, Some(step)) => step,
            (kind, _) => boundary.phase.as_deref().unwrap_or_else(|| kind.name()),
        };
        return match boundary.kind {
            BoundaryKind::PhaseEntry => write!(f, "Check-in: {what} begins. Continue?"),
            _ => write!(f, "Check-in: {what} complete. Continue?"),
        };
    }
    match (&boundary.kind, boundary.job_complete && scope == Scope::Job) {
        (BoundaryKind::Complete, _) | (_, true) if trigger.on == On::Kind(BoundaryKind::Complete) => {
            write!(f, "Job complete: its result waits for review")?;
        }
        (BoundaryKind::Phase | BoundaryKind::PhaseEntry | BoundaryKind::Complete, _) => {
            write!(f, "Phase")?;
            if let Some(number) = boundary.phase_number {
                write!(f, " {number}")?;
            }
            match (boundary.phase_kind, boundary.phase.as_deref()) {
                (Some(kind), _) => write!(f, " ({kind})")?,
                (None, Some(phase)) => write!(f, " `{phase}`")?,
                (None, None) => {}
            }
            write!(f, " waits for review")?;
        }
        (kind, _) => write!(f, "Checkpoint `{kind}` waits for review")?,
    }
    write!(f, " (holds at {trigger}")?;
    if trigger.confidence_below.is_some() {
        match boundary.confidence {
            Some(confidence) => write!(f, ", it is {confidence}")?,
            None => write!(f, ", it is not stated")?,
        }
    }
    write!(f, ")")
}
