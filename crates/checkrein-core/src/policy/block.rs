//! An autonomy block as people write it, in any layer: every field may be absent, null or set.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::example::Example;
use super::{Ask, Frequency, OnLimit, OnTimeout, ProtectedPaths, Said, Setting, TextOr, Tolerance, Trigger};
use crate::duration::Written;

/// `autonomy:` is a level's name or a block.
pub type Autonomy = TextOr<Block>;

/// Settings of one layer. `null` forgets what weaker layers said.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Block {
    /// A named policy; fields beside it win over it.
    pub level: Setting<String>,
    /// For people; Checkrein does not read it.
    pub description: Option<String>,
    /// How often a workflow shows itself: sugar for one trigger in `hold_at`.
    pub check_in_frequency: Setting<Said<Frequency>>,
    /// The checkpoint types a semi-supervised worker holds at.
    pub checkpoint_types: Setting<Vec<String>>,
    /// When a boundary holds.
    pub hold_at: Setting<Vec<Trigger>>,
    /// The highest severity of a warning that is tolerated.
    pub warning_tolerance: Setting<Said<Tolerance>>,
    /// The highest severity of an error that is tolerated.
    pub error_tolerance: Setting<Said<Tolerance>>,
    /// How many findings a run may collect.
    pub limits: Setting<LimitsBlock>,
    /// Phases that see a part of this differently; never limits.
    pub overrides: Setting<BTreeMap<String, Setting<TextOr<OverrideBlock>>>>,
    /// Phases that start only after an approval.
    pub require_approval_for: Setting<Vec<String>>,
    /// A gate before `release`, beside whatever `require_approval_for` says.
    pub pause_before_release: Setting<bool>,
    /// Whether a triggered check-in needs an answer.
    pub ask: Setting<Ask>,
    /// How long a hold waits for an answer.
    pub timeout: Setting<Written>,
    /// What happens then; nothing ever times out into approval.
    pub on_timeout: Setting<OnTimeout>,
    /// A change to these files holds at every level. A list adds to them; `{replace: […]}` is the whole list, in the
    /// user's own settings only.
    pub protected_paths: Setting<ProtectedPaths>,
    /// What may be used up before the run holds.
    pub budget: Setting<BudgetBlock>,
    /// How many phases of a job may pass before a person has to approve one; 50 by default.
    pub max_phases: Setting<AtLeastOne>,
    /// Situations and the outcome expected of them, checked whenever this is loaded.
    pub examples: Vec<Example>,
    /// Phases of the same file that say `require_approval`, beside whatever `require_approval_for` says.
    #[serde(skip)]
    pub gated_phases: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsBlock {
    pub max_total_warnings: Setting<AtLeastOne>,
    pub max_total_errors: Setting<AtLeastOne>,
    pub on_limit_reached: Setting<OnLimit>,
}

/// A limit of 0 would stop everything; it is a mistake (W7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
#[schemars(extend("minimum" = 1))]
pub struct AtLeastOne(pub u64);

impl TryFrom<i64> for AtLeastOne {
    type Error = String;

    fn try_from(number: i64) -> Result<AtLeastOne, String> {
        match u64::try_from(number) {
            Ok(count) if count >= 1 => Ok(AtLeastOne(count)),
            _ => Err(format!("must be at least 1, found `{number}`")),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetBlock {
    pub tokens: Setting<Tokens>,
    /// In the currency the agent reports.
    pub cost: Setting<Cost>,
    pub time: Setting<Time>,
}

/// A budget of nothing would hold everything; it is a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "u64")]
#[schemars(extend("minimum" = 1))]
pub struct Tokens(pub u64);

impl TryFrom<u64> for Tokens {
    type Error = String;

    fn try_from(count: u64) -> Result<Tokens, String> {
        if count == 0 { Err("must be at least 1, found `0`".to_owned()) } else { Ok(Tokens(count)) }
    }
}

/// More than nothing, and a number.
// A budget that is infinite or no number would never hold, and a stored policy could not say it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(extend("exclusiveMinimum" = 0))]
pub struct Cost(pub f64);

impl TryFrom<f64> for Cost {
    type Error = String;

    fn try_from(cost: f64) -> Result<Cost, String> {
        if cost.is_finite() && cost > 0.0 {
            Ok(Cost(cost))
        } else {
            Err(format!("must be a number above 0, found `{cost}`"))
        }
    }
}

/// More than no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "Written")]
#[schemars(with = "Written")]
pub struct Time(pub Duration);

impl TryFrom<Written> for Time {
    type Error = String;

    fn try_from(written: Written) -> Result<Time, String> {
        if written.0.is_zero() { Err("must be more than no time".to_owned()) } else { Ok(Time(written.0)) }
    }
}

/// What one phase may see differently.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OverrideBlock {
    pub level: Setting<String>,
    pub description: Option<String>,
    pub check_in_frequency: Setting<Said<Frequency>>,
    pub hold_at: Setting<Vec<Trigger>>,
    pub warning_tolerance: Setting<Said<Tolerance>>,
    pub error_tolerance: Setting<Said<Tolerance>>,
    pub ask: Setting<Ask>,
    /// Limits are global: written here they are ignored, and `policy check` refuses them.
    pub limits: Setting<LimitsBlock>,
}

impl Block {
    /// Every setting a block can hold.
    pub fn field_names() -> Vec<String> {
        let schema = schemars::schema_for!(Block);
        let fields = schema.get("properties").and_then(serde_json::Value::as_object);
        fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    }

    /// The phases this block speaks about, with the way to each.
    pub fn phases_named(&self) -> Vec<(Vec<String>, &str)> {
        let overrides = self.overrides.set().into_iter().flatten();
        let overrides =
            overrides.map(|(phase, _)| (vec!["overrides".to_owned(), phase.clone()], phase.as_str()));
        let list = "require_approval_for".to_owned();
        let gates = self.require_approval_for.set().into_iter().flatten().enumerate();
        let gates = gates.map(|(index, phase)| (vec![list.clone(), index.to_string()], phase.as_str()));
        let listed = |phase: &str| {
            self.require_approval_for.set().is_some_and(|list| list.iter().any(|own| own == phase))
        };
        let release = self.pause_before_release.set().filter(|pause| **pause && !listed("release"));
        let release = release.map(|_| (vec!["pause_before_release".to_owned()], "release"));
        overrides.chain(gates).chain(release).collect()
    }

    /// Forgets everything weaker layers said: `null` in the place of a block (R6).
    pub fn cleared() -> Block {
        Block {
            level: Setting::Clear,
            check_in_frequency: Setting::Clear,
            checkpoint_types: Setting::Clear,
            hold_at: Setting::Clear,
            warning_tolerance: Setting::Clear,
            error_tolerance: Setting::Clear,
            limits: Setting::Clear,
            overrides: Setting::Clear,
            require_approval_for: Setting::Clear,
            pause_before_release: Setting::Clear,
            ask: Setting::Clear,
            timeout: Setting::Clear,
            on_timeout: Setting::Clear,
            protected_paths: Setting::Clear,
            budget: Setting::Clear,
            max_phases: Setting::Clear,
            description: None,
            examples: Vec::new(),
            gated_phases: Vec::new(),
        }
    }

    pub fn of(autonomy: Autonomy) -> Block {
        match autonomy {
            TextOr::Text(level) => Block { level: Setting::Set(level), ..Block::default() },
            TextOr::Long(block) => block,
        }
    }
}

impl OverrideBlock {
    pub fn of(written: TextOr<OverrideBlock>) -> OverrideBlock {
        match written {
            TextOr::Text(level) => OverrideBlock { level: Setting::Set(level), ..OverrideBlock::default() },
            TextOr::Long(block) => block,
        }
    }
}
