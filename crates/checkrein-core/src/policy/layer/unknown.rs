//! What a layer says in words nobody knows. It fails closed: a person who misspelt a setting is told, and
//! nothing runs (X1).

use super::Layer;
use super::governed::{Field, Governed, Place};
use super::judge::placed;
use crate::boundary::BoundaryKind;
use crate::document::{Gravity, Problem, Problems, closest, listed};
use crate::policy::block::OverrideBlock;
use crate::policy::{Level, On, Role, Said, Scope, Setting, Trigger, Word};
use crate::run::job::phase_name;

/// What becomes of a level, frequency or tolerance nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Refused, unless it is in a file of an older system.
    #[default]
    Strict,
    /// Ruled as W8 and W9 say, with a warning: for commands that only answer questions.
    Coercing,
}

impl Layer {
    /// Everything in this layer that the scope does not know.
    pub fn unknown(&self, scope: Scope, reading: Reading) -> Problems {
        let coerced = self.origin.older || reading == Reading::Coercing;
        let mut search = Search { layer: self, scope, coerced, problems: Problems::default() };
        search.governed(Place::Whole, &Governed::from(&self.block));
        for (index, name) in self.block.checkpoint_types.set().into_iter().flatten().enumerate() {
            search.type_name(name, &["checkpoint_types", &index.to_string()]);
        }
        for (phase, own) in self.block.overrides.set().into_iter().flatten() {
            search.phase_name(phase, &["overrides", phase]);
            search.phase_of_job(phase, &["overrides", phase]);
            if let Setting::Set(own) = own {
                search.governed(Place::Phase(phase), &Governed::from(&OverrideBlock::of(own.clone())));
            }
        }
        search.without_effect();
        for (index, phase) in self.block.require_approval_for.set().into_iter().flatten().enumerate() {
            search.phase_name(phase, &["require_approval_for", &index.to_string()]);
        }
        search.problems
    }
}

struct Search<'l> {
    layer: &'l Layer,
    scope: Scope,
    coerced: bool,
    problems: Problems,
}

impl Search<'_> {
    fn governed(&mut self, place: Place<'_>, written: &Governed) {
        self.level(place, written);
        self.word(place, Field::CheckInFrequency, &written.check_in_frequency);
        self.word(place, Field::WarningTolerance, &written.warning_tolerance);
        self.word(place, Field::ErrorTolerance, &written.error_tolerance);
        self.frequency(place, written);
        self.triggers(place, written);
    }

    fn level(&mut self, place: Place<'_>, written: &Governed) {
        let Some(name) = written.level.set() else { return };
        if Level::find(self.scope, name).is_some() {
            return;
        }
        let names: Vec<&str> = Level::of(self.scope).map(|level| level.name).collect();
        let mut hint = choices(name, &names, "levels");
        if closest(name, names).is_none()
            && let Some(other) = Level::scope_of(name)
        {
            hint = format!("`{name}` is a {other} level; {hint}");
        }
        let message = format!("unknown {} level `{name}`", self.scope);
        let stand_in = Level::with_role(self.scope, Role::ForUnknown).filter(|_| self.coerced);
        let (gravity, message) = match stand_in {
            None => (Gravity::Error, message),
            Some(_) if written.check_in_frequency.set().is_some() => {
                (Gravity::Warning, format!("{message}, ignored"))
            }
            Some(stand_in) => (Gravity::Warning, format!("{message}, using `{}`", stand_in.name)),
        };
        self.say(gravity, &place.path("level"), message, hint);
    }

    fn word<T: Word>(&mut self, place: Place<'_>, field: Field, setting: &Setting<Said<T>>) {
        let Some(word) = setting.set().and_then(|said| said.unknown.as_deref()) else { return };
        let words: Vec<&str> = T::WORDS.iter().map(|(name, _)| *name).collect();
        let hint = choices(word, &words, "values");
        let message = format!("unknown {} `{word}`", field.name());
        let (gravity, message) = match self.coerced {
            false => (Gravity::Error, message),
            true => (Gravity::Warning, format!("{message}, {}", T::UNKNOWN_MEANS)),
        };
        self.say(gravity, &place.path(field.name()), message, hint);
    }

    /// A frequency is sugar for a trigger, and neither a job nor a worker has steps of its own to hold at.
    fn frequency(&mut self, place: Place<'_>, written: &Governed) {
        let Some(said) = written.check_in_frequency.set() else { return };
        let Some(trigger) = said.meaning.trigger() else { return };
        let reached = self.scope.boundaries().unwrap_or_default();
        if reached.iter().any(|kind| trigger.on == On::Kind(kind.clone())) {
            return;
        }
        let message = format!("a {} never checks in `{}`", self.scope, said.word());
        let path = place.path(Field::CheckInFrequency.name());
        self.say(Gravity::Error, &path, message, "write `hold_at` or a level instead".to_owned());
    }

    fn triggers(&mut self, place: Place<'_>, written: &Governed) {
        for (index, trigger) in written.hold_at.set().into_iter().flatten().enumerate() {
            let index = index.to_string();
            let path_of = |key| {
                place
                    .path(Field::HoldAt.name())
                    .into_iter()
                    .chain([index.as_str(), key])
                    .collect::<Vec<&str>>()
            };
            self.milestone(trigger, &path_of("milestone"));
            let On::Kind(kind) = &trigger.on else { continue };
            let path = path_of("on");
            if let Some(reached) = self.scope.boundaries().filter(|reached| !reached.contains(kind)) {
                let names: Vec<&str> = reached.iter().map(BoundaryKind::name).chain(["*"]).collect();
                let hint = choices(kind.name(), &names, "values");
                let message = format!("a {} has no boundary `{kind}` to hold at", self.scope);
                self.say(Gravity::Error, &path, message, hint);
            } else if let (Place::Phase(_), BoundaryKind::Complete) = (place, kind) {
                let message = "completion belongs to the whole, a phase does not hold there".to_owned();
                let hint = "move it to `hold_at` of the autonomy block".to_owned();
                self.say(Gravity::Error, &path, message, hint);
            } else if let BoundaryKind::Type(name) = kind {
                self.type_name(name, &path);
            }
        }
    }

    /// Settings that nothing looks at in this scope.
    fn without_effect(&mut self) {
        let block = &self.layer.block;
        let gates = "a job holds at the ends of its phases; write `hold_at`";
        let (scope, job) = (self.scope, self.scope == Scope::Job);
        for (field, is_idle, hint) in [
            ("require_approval_for", job && block.require_approval_for.set().is_some(), gates),
            ("pause_before_release", job && block.pause_before_release.set().is_some(), gates),
            (
                "protected_paths",
                !job && block.protected_paths.set().is_some(),
                "protected files are for jobs: write it under `autonomy.job`",
            ),
        ] {
            if is_idle {
                let message = format!("`{field}` does nothing in a {scope}");
                self.say(Gravity::Error, &[field], message, hint.to_owned());
            }
        }
    }

    /// Only the agent of a job reports milestones: anywhere else, and without a name, it would never hold.
    fn milestone(&mut self, trigger: &Trigger, path: &[&str]) {
        let Some(name) = &trigger.milestone else { return };
        if self.scope != Scope::Job {
            let message = format!("a {} reaches no milestones to hold at", self.scope);
            let hint = "leave `milestone` out; only jobs have them".to_owned();
            self.say(Gravity::Error, path, message, hint);
        } else if name.trim().is_empty() {
            let message = "a milestone has a name, found nothing".to_owned();
            self.say(Gravity::Error, path, message, "write its name as the plan has it".to_owned());
        }
    }

    /// A worker's types are free (C1), but no worker asks with one like these.
    fn type_name(&mut self, name: &str, path: &[&str]) {
        if let Err(wrong) = BoundaryKind::check_type(name) {
            let message = format!("checkpoint type `{name}` {wrong}");
            let hint = "write the type as the worker does, such as `deliverable`".to_owned();
            self.say(Gravity::Error, path, message, hint);
        }
    }

    /// Which phases there are is checked against the workflow; a name it is in any case.
    fn phase_name(&mut self, phase: &str, path: &[&str]) {
        if phase.trim().is_empty() {
            let message = "a phase has a name, found nothing".to_owned();
            self.say(
                Gravity::Error,
                path,
                message,
                "write the name of a phase, such as `release`".to_owned(),
            );
        }
    }

    /// The phases of a job have names of their own.
    fn phase_of_job(&mut self, phase: &str, path: &[&str]) {
        let number = phase.split('-').nth(1).and_then(|number| number.parse().ok());
        let is_one = number.is_some_and(|number| number > 0 && phase_name(number) == phase);
        if self.scope == Scope::Job && !phase.trim().is_empty() && !is_one {
            let message = format!("a job has no phase `{phase}`");
            let hint = "its phases are named `phase-1-strategic`, `phase-2-tactical` and so on".to_owned();
            self.say(Gravity::Error, path, message, hint);
        }
    }

    fn say(&mut self, gravity: Gravity, path: &[&str], message: String, hint: String) {
        let problem = Problem { gravity, ..Problem::error("", message).hint(hint) };
        self.problems.push(placed(problem, Some(self.layer), path));
    }
}

/// The nearest word, and all there are.
fn choices(word: &str, known: &[&str], what: &str) -> String {
    let valid = format!("valid {what}: {}", listed(known.iter().copied()));
    match closest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? {valid}"),
        None => valid,
    }
}
