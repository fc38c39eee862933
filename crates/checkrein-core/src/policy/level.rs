//! The levels: one table, a row each. A new level is a new row.

use super::{Ask, Frequency, On, Scope, Tolerance, Trigger};
use crate::boundary::{BoundaryKind, PhaseKind};

/// A named policy. A name means what its scope says.
#[derive(Debug)]
pub struct Level {
    pub name: &'static str,
    /// None: every scope has it.
    pub scope: Option<Scope>,
    pub holds: Holds,
    /// Warning and error tolerance; None leaves what weaker layers say.
    pub tolerance: Option<(Tolerance, Tolerance)>,
    pub ask: Ask,
    /// Still understood, but on its way out.
    pub deprecated: bool,
    pub role: Role,
    /// What the name promised once and does not do here (W20).
    pub loses: Option<&'static str>,
    /// For whom it is, in a sentence.
    pub about: &'static str,
}

/// Whether a level speaks where no level of its scope is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Only by its name.
    Named,
    /// Where nobody says anything.
    Default,
    /// In the place of a name nobody knows (W8).
    ForUnknown,
}

/// Where a level holds.
#[derive(Debug)]
pub enum Holds {
    At(&'static [Trigger]),
    /// At the worker's checkpoint types.
    CheckpointTypes,
    /// As the workflow's check-in frequency says.
    CheckIns(Frequency),
    /// At what is written beside the level.
    AsWritten,
}

const fn phase(phase_kind: Option<PhaseKind>, first: bool) -> Trigger {
    let on = On::Kind(BoundaryKind::Phase);
    Trigger { on, phase_kind, first, every: None, milestone: None, confidence_below: None }
}

const COMPLETE: Trigger = Trigger::on(BoundaryKind::Complete);
const STRATEGIC: Option<PhaseKind> = Some(PhaseKind::Strategic);

static AT_COMPLETION: [Trigger; 1] = [COMPLETE];
static AT_FIRST_PLAN: [Trigger; 2] = [phase(STRATEGIC, true), COMPLETE];
static AT_EVERY_PLAN: [Trigger; 2] = [phase(STRATEGIC, false), COMPLETE];
static AT_EVERY_PHASE: [Trigger; 2] = [phase(None, false), COMPLETE];
static ALWAYS: [Trigger; 1] = [Trigger::ALWAYS];

const ANY: Option<(Tolerance, Tolerance)> = Some((Tolerance::High, Tolerance::High));

const fn job(name: &'static str, holds: &'static [Trigger], about: &'static str) -> Level {
    Level {
        name,
        scope: Some(Scope::Job),
        holds: Holds::At(holds),
        tolerance: ANY,
        ask: Ask::Always,
        deprecated: false,
        role: Role::Named,
        loses: None,
        about,
    }
}

const fn worker(name: &'static str, holds: Holds, about: &'static str) -> Level {
    Level { holds, scope: Some(Scope::Worker), ..job(name, &[], about) }
}

const fn legacy(
    name: &'static str,
    frequency: Frequency,
    warning: Tolerance,
    error: Tolerance,
    about: &'static str,
) -> Level {
    Level {
        name,
        scope: Some(Scope::Workflow),
        holds: Holds::CheckIns(frequency),
        tolerance: Some((warning, error)),
        ask: Ask::WhenFindings,
        deprecated: true,
        role: Role::Named,
        loses: None,
        about,
    }
}

#[rustfmt::skip]
pub static LEVELS: &[Level] = &[
    job("full",      &[],             "runs from start to finish without review"),
    job("review",    &AT_COMPLETION,  "works alone, the result is reviewed"),
    job("partial",   &AT_FIRST_PLAN,  "the first plan and the result are reviewed").role(Role::Default),
    job("guided",    &AT_EVERY_PLAN,  "every plan and the result are reviewed"),
    job("dependent", &AT_EVERY_PHASE, "every phase is reviewed"),

    worker("manual",          Holds::At(&ALWAYS),     "every checkpoint is reviewed"),
    worker("semi_supervised", Holds::CheckpointTypes, "the listed checkpoint types are reviewed").role(Role::Default),
    worker("autonomous",      Holds::At(&[]),         "nothing is reviewed"),

    legacy("dry-run",    Frequency::PerStep,  Tolerance::None,   Tolerance::None, "asks after every step").loses("it does not prevent writes, steps run for real"),
    legacy("assist",     Frequency::PerPhase, Tolerance::None,   Tolerance::None, "asks after every phase, tolerates nothing"),
    legacy("guarded",    Frequency::PerPhase, Tolerance::Low,    Tolerance::None, "asks after every phase, tolerates low warnings").role(Role::ForUnknown),
    legacy("autonomous", Frequency::EndOnly,  Tolerance::Medium, Tolerance::Low,  "asks at the end"),

    Level { name: "custom", scope: None, holds: Holds::AsWritten, tolerance: None, ask: Ask::Always, deprecated: false,
            role: Role::Named, loses: None, about: "holds at what `hold_at` says" },
];

impl Level {
    const fn role(self, role: Role) -> Level {
        Level { role, ..self }
    }

    const fn loses(self, loses: &'static str) -> Level {
        Level { loses: Some(loses), ..self }
    }

    /// The level of a scope that speaks where none is named.
    pub fn with_role(scope: Scope, role: Role) -> Option<&'static Level> {
        Level::of(scope).find(|level| level.role == role)
    }

    pub fn find(scope: Scope, name: &str) -> Option<&'static Level> {
        Level::of(scope).find(|level| level.name == name)
    }

    /// The levels a scope knows, in the table's order.
    pub fn of(scope: Scope) -> impl Iterator<Item = &'static Level> {
        LEVELS.iter().filter(move |level| level.scope.is_none_or(|own| own == scope))
    }

    /// The only scope that knows this name, if it is just one: what a bare name can stand for.
    pub fn scope_of(name: &str) -> Option<Scope> {
        let mut scopes = LEVELS.iter().filter(|level| level.name == name).map(|level| level.scope);
        match (scopes.next(), scopes.next()) {
            (Some(scope), None) => scope,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_one_level_of_a_scope_speaks_unnamed() {
        for scope in Scope::ALL {
            let with =
                |role| Level::of(scope).filter(move |level| level.role == role).map(|level| level.name);
            let default: Vec<&str> = with(Role::Default).collect();
            let unknown: Vec<&str> = with(Role::ForUnknown).collect();
            let expected: (&[&str], &[&str]) = match scope {
                Scope::Workflow => (&[], &["guarded"]),
                Scope::Worker => (&["semi_supervised"], &[]),
                Scope::Job => (&["partial"], &[]),
            };
            assert_eq!((default.as_slice(), unknown.as_slice()), expected, "{scope}");
        }
    }
}
