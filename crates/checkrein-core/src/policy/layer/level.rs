//! A level in a block: what its name stands for, and how it replaces what weaker layers said.

use super::apply::Applying;
use super::governed::{Field, Governed, Place};
use crate::document::Gravity;
use crate::policy::migrate::legacy_settings;
use crate::policy::{Holds, Level, PhaseOverride, Role, Said, Setting, checkpoint_triggers};

enum Named {
    Level(&'static Level),
    /// W8: a legacy level beside a frequency means nothing.
    Ignored,
    Refused,
}

impl Applying<'_> {
    /// The level a block names or clears, and what comes with it.
    pub(super) fn level(&mut self, place: Place<'_>, written: &mut Governed) {
        let name = match &written.level {
            Setting::Absent => return,
            Setting::Clear => return self.clear_level(place),
            Setting::Set(name) => name.clone(),
        };
        let with_frequency = written.check_in_frequency.set().is_some();
        match self.named(&name, with_frequency, &place.path("level")) {
            Named::Level(level) => {
                self.expand(place, level);
                written.leave_to_level();
            }
            Named::Ignored => written.ignore_level(place),
            Named::Refused => {}
        }
    }

    /// What a level's name stands for in this scope (W8, C2, L3). Whether an unknown one is refused was said before.
    fn named(&mut self, name: &str, with_frequency: bool, field: &[&str]) -> Named {
        let scope = self.to.policy.scope;
        match Level::find(scope, name) {
            Some(level) if level.deprecated => {
                let ignored = with_frequency;
                self.deprecated(level, ignored, field);
                if ignored { Named::Ignored } else { Named::Level(level) }
            }
            Some(level) => Named::Level(level),
            None => match Level::with_role(scope, Role::ForUnknown) {
                None => Named::Refused,
                Some(_) if with_frequency => Named::Ignored,
                Some(stand_in) => Named::Level(stand_in),
            },
        }
    }

    fn deprecated(&mut self, level: &Level, ignored: bool, field: &[&str]) {
        let name = level.name;
        if ignored {
            let message = format!("level `{name}` is ignored because `check_in_frequency` is set");
            self.say(Gravity::Notice, field, message, None);
        } else {
            let message = format!("Migrating legacy autonomy level '{name}' to new model");
            self.say(Gravity::Notice, field, message, None);
        }
        let mut message =
            format!("autonomy level `{name}` is deprecated, its support ends after two major versions");
        if let Some(lost) = level.loses {
            message.push_str(&format!("; {lost}"));
        }
        let hint = if ignored {
            "remove `level`".to_owned()
        } else {
            let settings = legacy_settings(name).into_iter().flatten();
            let instead: Vec<String> = settings.map(|(key, value)| format!("{key}: {value}")).collect();
            format!("write `{}` instead, in a file by `checkrein policy migrate FILE`", instead.join(", "))
        };
        self.say(Gravity::Notice, field, message, Some(hint));
    }

    /// Replaces what weaker layers said by what the level says.
    fn expand(&mut self, place: Place<'_>, level: &'static Level) {
        let spoken = level.says(&self.to.policy.checkpoint_types);
        let mut own = self.own(place);
        for field in Field::ALL {
            // A frequency of none is said too: the level holds without one.
            if spoken.has(field) || field == Field::CheckInFrequency {
                own.take(field, &spoken);
                self.source(&place.key(field.name()), &place.path("level"), Some(level.name));
            }
        }
        self.write(place, own);
        if let Place::Whole = place {
            self.to.policy.level = Some(level.name.to_owned());
            self.source("level", &["level"], None);
        }
    }

    /// Forgets the level of weaker layers and what came with it.
    fn clear_level(&mut self, place: Place<'_>) {
        let mut default = self.default(place);
        if let Place::Whole = place {
            let level = Level::with_role(self.to.policy.scope, Role::Default);
            // The default level holds at the types in force, which may not be the default ones.
            if let Some(level) = level {
                default = level.says(&self.to.policy.checkpoint_types);
            }
            self.to.policy.level = level.map(|level| level.name.to_owned());
            self.cleared("level", &["level"]);
        }
        let mut own = self.own(place);
        for field in Field::ALL {
            let key = place.key(field.name());
            if self.to.sources.get(&key).is_some_and(|source| source.level.is_some()) {
                own.take(field, &default);
                match place {
                    Place::Whole => self.cleared(&key, &["level"]),
                    Place::Phase(_) => {
                        self.to.sources.remove(&key);
                    }
                }
            }
        }
        self.write(place, own);
    }
}

impl Level {
    /// What this level says about each setting it speaks about.
    pub(in crate::policy) fn says(&self, checkpoint_types: &[String]) -> PhaseOverride {
        let (hold_at, frequency) = match &self.holds {
            Holds::At(triggers) => (triggers.to_vec(), None),
            Holds::CheckpointTypes => (checkpoint_triggers(checkpoint_types), None),
            Holds::CheckIns(frequency) => (frequency.trigger().into_iter().collect(), Some(*frequency)),
            Holds::AsWritten => (Vec::new(), None),
        };
        PhaseOverride {
            hold_at: Some(hold_at),
            check_in_frequency: frequency.map(Said::from),
            warning_tolerance: self.tolerance.map(|(warning, _)| warning.into()),
            error_tolerance: self.tolerance.map(|(_, error)| error.into()),
            ask: Some(self.ask),
        }
    }
}
