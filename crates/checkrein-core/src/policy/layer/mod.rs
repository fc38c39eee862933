//! Layers: who contributed what to a policy, weakest first, and where each value came from.
//!
//! Maps merge, lists and scalars replace, null clears. A level expands in the layer that names it:
//! it replaces what weaker layers said about holding, tolerance and asking, and fields of the same
//! or a stronger layer win over it.

mod apply;
mod governed;
mod judge;
mod level;
mod source;
mod unknown;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::block::Block;
use super::example::ExampleFailure;
use super::{Policy, Scope};
use crate::classify::Classifier;
use crate::document::{Position, Problem, Problems};
use apply::Applying;
use governed::Field;
pub use source::{Origin, Source};
pub use unknown::Reading;

/// How strong a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerRank {
    BuiltIn,
    UserConfig,
    ProjectConfig,
    Environment,
    /// The workflow file, the expert or the worker's entry.
    Definition,
    /// Given when the run was started.
    Start,
    /// Made while it runs.
    Change,
}

/// One contributor to a policy.
#[derive(Clone, Debug)]
pub struct Layer {
    pub rank: LayerRank,
    pub origin: Origin,
    pub block: Block,
}

/// A policy, the source of each of its values, and what was odd on the way.
///
/// This is what a started run keeps. A later change is applied on top of it and never reaches back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolution {
    pub policy: Policy,
    pub sources: BTreeMap<String, Source>,
    #[serde(skip)]
    pub problems: Problems,
    /// The files that only the user's own settings, or for a started run nothing, can leave unprotected.
    #[serde(skip)]
    least_protected: Vec<String>,
}

impl Resolution {
    pub fn builtin(scope: Scope) -> Resolution {
        let policy = Policy::builtin(scope);
        let least_protected = policy.protected_paths.clone();
        let (sources, problems) = (BTreeMap::new(), Problems::default());
        let mut resolution = Resolution { policy, sources, problems, least_protected };
        let default = Source { rank: LayerRank::BuiltIn, name: "default".to_owned(), level: None };
        let by_level = Source { level: resolution.policy.level.clone(), ..default.clone() };
        for field in ALL_FIELDS {
            let governed = Field::ALL.iter().any(|own| own.name() == *field);
            let source = if governed { &by_level } else { &default };
            resolution.sources.insert((*field).to_owned(), source.clone());
        }
        resolution
    }

    /// A policy a run has kept, to be changed on top of.
    pub fn of(policy: Policy) -> Resolution {
        let least_protected = policy.protected_paths.clone();
        Resolution { policy, least_protected, ..Resolution::builtin(Scope::Job) }
    }

    /// The built-in default with every layer on top, weakest first; refused if one of them is wrong
    /// or contradicts an example it carries.
    pub fn resolve<'l>(
        scope: Scope,
        layers: impl IntoIterator<Item = &'l Layer>,
        classifier: &Classifier,
        reading: Reading,
    ) -> Result<Resolution, Problems> {
        let (mut resolution, tested) = Resolution::test(scope, layers, classifier, reading)?;
        for failed in tested {
            if let Some(failure) = failed.failure {
                let problem = Problem::error(failed.source, failure.to_string());
                resolution.problems.push(problem.at(failed.position).path(failed.path));
            }
        }
        if resolution.problems.has_errors() { Err(resolution.problems) } else { Ok(resolution) }
    }

    /// The same, with what became of every example instead of a refusal. An example speaks of the
    /// policy as its own layer leaves it.
    pub fn test<'l>(
        scope: Scope,
        layers: impl IntoIterator<Item = &'l Layer>,
        classifier: &Classifier,
        reading: Reading,
    ) -> Result<(Resolution, Vec<Tested>), Problems> {
        let mut resolution = Resolution::builtin(scope);
        let mut tested = Vec::new();
        let layers: Vec<&Layer> = layers.into_iter().collect();
        for &layer in &layers {
            Applying { to: &mut resolution, layer }.apply();
            resolution.problems.extend(layer.unknown(scope, reading));
            for (index, example) in layer.block.examples.iter().enumerate() {
                let number = index.to_string();
                let field = ["examples", number.as_str()];
                tested.push(Tested {
                    source: layer.origin.name.clone(),
                    position: layer.origin.position(&field),
                    path: layer.origin.path(&field),
                    name: example.name.clone().unwrap_or_else(|| format!("example {}", index + 1)),
                    failure: example.check(&resolution.policy, classifier).err(),
                });
            }
        }
        resolution.judge(&layers);
        if resolution.problems.has_errors() { Err(resolution.problems) } else { Ok((resolution, tested)) }
    }

    /// The same with one more layer; the original stays as it was.
    pub fn amend(&self, layer: &Layer) -> Result<Resolution, Problems> {
        let mut next = self.clone();
        Applying { to: &mut next, layer }.apply();
        next.problems.extend(layer.unknown(next.policy.scope, Reading::Strict));
        next.judge(&[layer]);
        if next.problems.has_errors() { Err(next.problems) } else { Ok(next) }
    }
}

/// What became of one example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    pub source: String,
    pub position: Option<Position>,
    pub path: String,
    pub name: String,
    pub failure: Option<ExampleFailure>,
}

const ALL_FIELDS: &[&str] = &[
    "level",
    "hold_at",
    "check_in_frequency",
    "checkpoint_types",
    "warning_tolerance",
    "error_tolerance",
    "limits.max_total_warnings",
    "limits.max_total_errors",
    "limits.on_limit_reached",
    "require_approval_for",
    "ask",
    "timeout",
    "on_timeout",
    "protected_paths",
    "budget.tokens",
    "budget.cost",
    "budget.time",
    "max_phases",
];

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
