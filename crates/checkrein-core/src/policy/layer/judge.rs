//! What can be told only when all layers are in: whether a level got what it needs, and whether what
//! was written has an effect.

use super::governed::{Field, Place};
use super::{Layer, Resolution};
use crate::document::{Gravity, Problem};
use crate::policy::block::OverrideBlock;
use crate::policy::{Holds, Level, Setting};

impl Resolution {
    /// Judges the whole. `layers` are those it was just put together from, weakest first.
    pub(super) fn judge(&mut self, layers: &[&Layer]) {
        let phases: Vec<String> = self.policy.overrides.keys().cloned().collect();
        for place in std::iter::once(Place::Whole).chain(phases.iter().map(|phase| Place::Phase(phase))) {
            self.needs_holds(place, layers);
        }
        self.idle_types(layers);
    }

    /// A level that holds as written, and nobody wrote anything since it was named.
    fn needs_holds(&mut self, place: Place<'_>, layers: &[&Layer]) {
        let Some(level) = self.holding_level(place) else { return };
        if matches!(level.holds, Holds::AsWritten) {
            let named = |layer: &&&Layer| named_level(layer, place).as_deref() == Some(level.name);
            let layer = layers.iter().rev().find(named).copied();
            let problem = Problem::error("policy", format!("level `{}` needs `hold_at`", level.name));
            self.problems.push(
                placed(problem, layer, &place.path("level")).hint("write `hold_at: []` to hold nowhere"),
            );
        }
    }

    /// Checkpoint types beside or above a level that does not look at them.
    fn idle_types(&mut self, layers: &[&Layer]) {
        let writes = |layer: &&Layer| layer.block.checkpoint_types.set().is_some();
        let names = |layer: &&Layer| layer.block.level.set().is_some();
        let scope = self.policy.scope;
        let Some(written) = layers.iter().rposition(writes) else { return };
        let Some(level) = self.policy.level.as_deref().and_then(|name| Level::find(scope, name)) else {
            return;
        };
        // Types that wait below a level which came later may be meant for other workers.
        let came_later = layers.iter().rposition(names).is_some_and(|named| named > written);
        let looked_at = |place| {
            self.holding_level(place).is_some_and(|level| matches!(level.holds, Holds::CheckpointTypes))
        };
        let by_a_phase = self.policy.overrides.keys().any(|phase| looked_at(Place::Phase(phase)));
        if !matches!(level.holds, Holds::At(_)) || came_later || by_a_phase {
            return;
        }
        let Some(other) = Level::of(scope).find(|level| matches!(level.holds, Holds::CheckpointTypes)) else {
            return;
        };
        let message = format!("`checkpoint_types` has no effect under level `{}`", level.name);
        let problem = Problem { gravity: Gravity::Warning, ..Problem::error("policy", message) };
        let problem = placed(problem, layers.get(written).copied(), &["checkpoint_types"]);
        self.problems.push(problem.hint(format!("level `{}` holds at them", other.name)));
    }

    /// The level that says where this place holds, unless it was written out.
    fn holding_level(&self, place: Place<'_>) -> Option<&'static Level> {
        let source = self.sources.get(&place.key(Field::HoldAt.name()))?;
        Level::find(self.policy.scope, source.level.as_deref()?)
    }
}

/// The level a layer names there.
pub(super) fn named_level(layer: &Layer, place: Place<'_>) -> Option<String> {
    match place {
        Place::Whole => layer.block.level.set().cloned(),
        Place::Phase(phase) => match layer.block.overrides.set()?.get(phase)? {
            Setting::Set(own) => OverrideBlock::of(own.clone()).level.set().cloned(),
            Setting::Absent | Setting::Clear => None,
        },
    }
}

pub(super) fn placed(problem: Problem, layer: Option<&Layer>, field: &[&str]) -> Problem {
    match layer {
        None => problem.path(field.join(".")),
        Some(Layer { origin, .. }) => {
            let problem = problem.at(origin.position(field)).path(origin.path(field));
            Problem { source: origin.name.clone(), ..problem }
        }
    }
}
