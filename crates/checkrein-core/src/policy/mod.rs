//! The policy: the resolved settings in force at a boundary.

mod block;
mod example;
mod layer;
mod level;
mod migrate;
mod protected;
mod said;
mod setting;
mod show;
mod told;
mod trigger;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boundary::BoundaryKind;

pub use block::{Autonomy, Block, BudgetBlock, LimitsBlock, OverrideBlock};
pub use example::{Example, ExampleFailure};
pub use layer::{Layer, LayerRank, Origin, Reading, Resolution, Source, Tested};
pub use level::{Holds, LEVELS, Level, Role};
pub use migrate::{Change, Migration, migrate};
pub use protected::{PathPattern, ProtectedPaths, Replacement};
pub use said::{Said, Word};
pub(crate) use setting::TEXT_OR;
pub use setting::{Setting, TextOr};
pub use show::Shown;
pub use told::Told;
pub use trigger::{On, Trigger};

/// Small data, resolved once; `decide` reads it and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub scope: Scope,
    /// The level in force, where one was named.
    pub level: Option<String>,
    pub hold_at: Vec<Trigger>,
    /// The frequency `hold_at` came from, where it came from one.
    pub check_in_frequency: Option<Said<Frequency>>,
    /// What a semi-supervised worker holds at.
    pub checkpoint_types: Vec<String>,
    pub tolerance: Tolerances,
    pub limits: Limits,
    pub overrides: BTreeMap<String, PhaseOverride>,
    pub require_approval_for: Vec<String>,
    pub ask: Ask,
    /// How long a hold waits for an answer; none waits for ever.
    #[serde(with = "crate::duration::text")]
    pub timeout: Option<Duration>,
    pub on_timeout: OnTimeout,
    pub protected_paths: Vec<String>,
    pub budget: Budget,
    /// So many phases of a job may pass before a person has to approve one.
    #[serde(default = "max_phases")]
    pub max_phases: u64,
}

/// What a policy is for; a level's name means what its scope says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Workflow,
    Worker,
    Job,
}

impl Scope {
    pub const ALL: [Scope; 3] = [Scope::Workflow, Scope::Worker, Scope::Job];

    pub const fn name(self) -> &'static str {
        match self {
            Scope::Workflow => "workflow",
            Scope::Worker => "worker",
            Scope::Job => "job",
        }
    }

    /// The kinds of boundary a run of this scope reaches. None is any: a worker's checkpoint types are free (C1).
    pub const fn boundaries(self) -> Option<&'static [BoundaryKind]> {
        use BoundaryKind::{Complete, Hook, Phase, PhaseEntry, Step};
        match self {
            Scope::Workflow => Some(&[Step, Hook, PhaseEntry, Phase, Complete]),
            Scope::Job => Some(&[Phase, Complete]),
            Scope::Worker => None,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The highest severity that is tolerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tolerance {
    None,
    Low,
    Medium,
    High,
}

impl Tolerance {
    /// Whether a finding of this severity is more than is tolerated.
    pub const fn exceeded_by(self, severity: crate::finding::Severity) -> bool {
        use crate::finding::Severity;
        let most = match self {
            Tolerance::None => return true,
            Tolerance::Low => Severity::Low,
            Tolerance::Medium => Severity::Medium,
            Tolerance::High => Severity::High,
        };
        severity as u8 > most as u8
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tolerances {
    pub warning: Said<Tolerance>,
    pub error: Said<Tolerance>,
}

/// How often a workflow shows itself; sugar for one trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Frequency {
    PerStep,
    PerPhase,
    EndOnly,
    /// What an unknown frequency means (W9); not a word anybody can write.
    #[schemars(skip)]
    Never,
}

impl Frequency {
    /// Each frequency fires only on its own event (W10).
    pub fn trigger(self) -> Option<Trigger> {
        match self {
            Frequency::PerStep => Some(Trigger::on(BoundaryKind::Step)),
            Frequency::PerPhase => Some(Trigger::on(BoundaryKind::Phase)),
            Frequency::EndOnly => Some(Trigger::on(BoundaryKind::Complete)),
            Frequency::Never => None,
        }
    }
}

/// Never overridden per phase (W7). None: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub max_total_warnings: Option<u64>,
    pub max_total_errors: Option<u64>,
    pub on_limit_reached: OnLimit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnLimit {
    Stop,
    Truncate,
}

/// Whether a triggered check-in needs an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    Always,
    WhenFindings,
}

impl Ask {
    pub const fn name(self) -> &'static str {
        match self {
            Ask::Always => "always",
            Ask::WhenFindings => "when_findings",
        }
    }
}

/// Nothing ever times out into approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnTimeout {
    Hold,
    Reject,
}

/// What a run may use up before it holds. None: no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
    #[serde(with = "crate::duration::text")]
    pub time: Option<Duration>,
}

/// The part of a policy that one phase sees differently.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseOverride {
    pub hold_at: Option<Vec<Trigger>>,
    pub check_in_frequency: Option<Said<Frequency>>,
    pub warning_tolerance: Option<Said<Tolerance>>,
    pub error_tolerance: Option<Said<Tolerance>>,
    pub ask: Option<Ask>,
}

/// The policy as one phase sees it, borrowed: looking it up costs nothing.
#[derive(Clone, Copy, Debug)]
pub struct Effective<'p> {
    pub hold_at: &'p [Trigger],
    pub warning_tolerance: Tolerance,
    pub error_tolerance: Tolerance,
    pub ask: Ask,
}

/// Also of what was stored before there was such a limit.
const fn max_phases() -> u64 {
    50
}

const CHECKPOINT_TYPES: [&str; 3] = ["phase_transition", "deliverable", "final_output"];

impl Policy {
    /// What holds where nobody said anything.
    pub fn builtin(scope: Scope) -> Policy {
        let mut policy = Policy {
            scope,
            level: None,
            hold_at: Vec::new(),
            check_in_frequency: None,
            checkpoint_types: Vec::new(),
            tolerance: Tolerances { warning: Tolerance::High.into(), error: Tolerance::High.into() },
            limits: Limits {
                max_total_warnings: None,
                max_total_errors: None,
                on_limit_reached: OnLimit::Stop,
            },
            overrides: BTreeMap::new(),
            require_approval_for: Vec::new(),
            ask: Ask::Always,
            timeout: None,
            on_timeout: OnTimeout::Hold,
            protected_paths: protected::DEFAULT.iter().map(|path| (*path).to_owned()).collect(),
            budget: Budget::default(),
            max_phases: max_phases(),
        };
        match scope {
            Scope::Workflow => {
                policy.check_in_frequency = Some(Frequency::PerPhase.into());
                policy.hold_at.extend(Frequency::PerPhase.trigger());
                policy.tolerance =
                    Tolerances { warning: Tolerance::Low.into(), error: Tolerance::None.into() };
                policy.limits.max_total_warnings = Some(50);
                policy.limits.max_total_errors = Some(20);
                policy.ask = Ask::WhenFindings;
            }
            Scope::Worker => policy.checkpoint_types = CHECKPOINT_TYPES.map(str::to_owned).to_vec(),
            Scope::Job => {}
        }
        if let Some(level) = Level::with_role(scope, Role::Default) {
            policy.level = Some(level.name.to_owned());
            policy.take_all(level.says(&policy.checkpoint_types));
        }
        policy
    }

    /// When a hold that opens now counts as rejected. With `on_timeout: hold` it waits on.
    pub fn deadline(&self, opened_at: Timestamp) -> Option<Timestamp> {
        let timeout = self.timeout.filter(|_| self.on_timeout == OnTimeout::Reject)?;
        Some(opened_at.checked_add(timeout).unwrap_or(Timestamp::MAX))
    }

    /// The policy as `phase` sees it; limits stay global.
    pub fn for_phase(&self, phase: Option<&str>) -> Effective<'_> {
        let own = phase.filter(|_| !self.overrides.is_empty()).and_then(|phase| self.overrides.get(phase));
        let global = Effective {
            hold_at: &self.hold_at,
            warning_tolerance: self.tolerance.warning.meaning,
            error_tolerance: self.tolerance.error.meaning,
            ask: self.ask,
        };
        match own {
            None => global,
            Some(own) => Effective {
                hold_at: own.hold_at.as_deref().unwrap_or(global.hold_at),
                warning_tolerance: own
                    .warning_tolerance
                    .as_ref()
                    .map_or(global.warning_tolerance, |t| t.meaning),
                error_tolerance: own.error_tolerance.as_ref().map_or(global.error_tolerance, |t| t.meaning),
                ask: own.ask.unwrap_or(global.ask),
            },
        }
    }
}

/// `*` among the types is every type, as it is in a trigger.
fn checkpoint_triggers(types: &[String]) -> Vec<Trigger> {
    let trigger = |name: &String| match name.as_str() {
        "*" => Trigger::ALWAYS,
        _ => Trigger::on(name.clone().into()),
    };
    types.iter().map(trigger).collect()
}
