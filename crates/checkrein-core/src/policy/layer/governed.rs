//! What a level speaks about: holding, check-ins, tolerance and asking. The rules are the same for
//! the policy as a whole and for each phase that sees it differently.

use super::apply::Applying;
use crate::boundary::BoundaryKind;
use crate::document::{Gravity, closest};
use crate::policy::block::{Block, OverrideBlock};
use crate::policy::{Ask, Frequency, On, PhaseOverride, Policy, Said, Setting, Tolerance, Trigger};

/// One of the settings a level speaks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    HoldAt,
    CheckInFrequency,
    WarningTolerance,
    ErrorTolerance,
    Ask,
}

impl Field {
    pub(super) const ALL: [Field; 5] =
        [Field::HoldAt, Field::CheckInFrequency, Field::WarningTolerance, Field::ErrorTolerance, Field::Ask];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Field::HoldAt => "hold_at",
            Field::CheckInFrequency => "check_in_frequency",
            Field::WarningTolerance => "warning_tolerance",
            Field::ErrorTolerance => "error_tolerance",
            Field::Ask => "ask",
        }
    }
}

/// Whose settings: the policy's as a whole, or those of one phase.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'p> {
    Whole,
    Phase(&'p str),
}

impl<'p> Place<'p> {
    /// By this name a value's source is kept.
    pub(super) fn key(self, field: &str) -> String {
        match self {
            Place::Whole => field.to_owned(),
            Place::Phase(phase) => format!("overrides.{phase}.{field}"),
        }
    }

    /// The way to a field from the block.
    pub(super) fn path<'f>(self, field: &'f str) -> Vec<&'f str>
    where
        'p: 'f,
    {
        match self {
            Place::Whole => vec![field],
            Place::Phase(phase) => vec!["overrides", phase, field],
        }
    }
}

/// The settings a level speaks about as one block writes them.
#[derive(Clone, Debug)]
pub(super) struct Governed {
    pub(super) level: Setting<String>,
    pub(super) check_in_frequency: Setting<Said<Frequency>>,
    pub(super) hold_at: Setting<Vec<Trigger>>,
    pub(super) warning_tolerance: Setting<Said<Tolerance>>,
    pub(super) error_tolerance: Setting<Said<Tolerance>>,
    pub(super) ask: Setting<Ask>,
}

impl From<&Block> for Governed {
    fn from(block: &Block) -> Governed {
        Governed {
            level: block.level.clone(),
            check_in_frequency: block.check_in_frequency.clone(),
            hold_at: block.hold_at.clone(),
            warning_tolerance: block.warning_tolerance.clone(),
            error_tolerance: block.error_tolerance.clone(),
            ask: block.ask.clone(),
        }
    }
}

impl From<&OverrideBlock> for Governed {
    fn from(block: &OverrideBlock) -> Governed {
        Governed {
            level: block.level.clone(),
            check_in_frequency: block.check_in_frequency.clone(),
            hold_at: block.hold_at.clone(),
            warning_tolerance: block.warning_tolerance.clone(),
            error_tolerance: block.error_tolerance.clone(),
            ask: block.ask.clone(),
        }
    }
}

impl Governed {
    /// Null forgets what weaker layers said; where the block names a level, the level speaks instead.
    pub(super) fn leave_to_level(&mut self) {
        self.check_in_frequency.leave();
        self.hold_at.leave();
        self.warning_tolerance.leave();
        self.error_tolerance.leave();
        self.ask.leave();
    }

    /// W8: an ignored level is as good as not written, except that the tolerances beside it are not
    /// those of weaker layers but the plain defaults. A phase has no defaults of its own.
    pub(super) fn ignore_level(&mut self, place: Place<'_>) {
        if let Place::Whole = place {
            self.warning_tolerance.or_clear();
            self.error_tolerance.or_clear();
        }
    }
}

impl Applying<'_> {
    /// What a block writes out. Triggers, a frequency and checkpoint types written together add up.
    pub(super) fn governed(&mut self, place: Place<'_>, written: &Governed, types: Option<Vec<Trigger>>) {
        let Governed { check_in_frequency, hold_at, warning_tolerance, error_tolerance, ask, .. } = written;
        let default = self.default(place);
        let mut own = self.own(place);

        let field = match (hold_at, check_in_frequency) {
            (Setting::Set(_), _) => Field::HoldAt.name(),
            (_, Setting::Set(_)) => Field::CheckInFrequency.name(),
            _ if types.is_some() => "checkpoint_types",
            (Setting::Clear, _) => Field::HoldAt.name(),
            (Setting::Absent, _) => Field::CheckInFrequency.name(),
        };
        let mut triggers = hold_at.set().cloned();
        if let Setting::Set(said) = check_in_frequency {
            triggers.get_or_insert_default().extend(said.meaning.trigger());
        }
        if let Some(types) = types {
            triggers.get_or_insert_default().extend(types);
        }
        let both = [Field::HoldAt, Field::CheckInFrequency];
        if triggers.is_some() {
            own.hold_at = triggers;
            own.check_in_frequency = check_in_frequency.set().cloned();
            for of in both {
                self.source(&place.key(of.name()), &place.path(field), None);
            }
        } else if !hold_at.is_absent() || !check_in_frequency.is_absent() {
            for of in both {
                own.take(of, &default);
                self.forgotten(place, of, field);
            }
        }

        self.one(place, Field::WarningTolerance, warning_tolerance, &mut own, &default, |own, value| {
            own.warning_tolerance = Some(value);
        });
        self.one(place, Field::ErrorTolerance, error_tolerance, &mut own, &default, |own, value| {
            own.error_tolerance = Some(value);
        });
        self.one(place, Field::Ask, ask, &mut own, &default, |own, value| own.ask = Some(value));
        self.write(place, own);

        self.check_types(place, hold_at);
    }

    fn one<T: Clone>(
        &mut self,
        place: Place<'_>,
        field: Field,
        setting: &Setting<T>,
        own: &mut PhaseOverride,
        default: &PhaseOverride,
        write: impl FnOnce(&mut PhaseOverride, T),
    ) {
        match setting {
            Setting::Absent => {}
            Setting::Clear => {
                own.take(field, default);
                self.forgotten(place, field, field.name());
            }
            Setting::Set(value) => {
                write(own, value.clone());
                self.source(&place.key(field.name()), &place.path(field.name()), None);
            }
        }
    }

    pub(super) fn own(&self, place: Place<'_>) -> PhaseOverride {
        match place {
            Place::Whole => PhaseOverride::from(&self.to.policy),
            Place::Phase(phase) => self.to.policy.overrides.get(phase).cloned().unwrap_or_default(),
        }
    }

    /// What holds where nobody says anything: the built-in policy, or in a phase what the whole says.
    pub(super) fn default(&self, place: Place<'_>) -> PhaseOverride {
        match place {
            Place::Whole => PhaseOverride::from(&Policy::builtin(self.to.policy.scope)),
            Place::Phase(_) => PhaseOverride::default(),
        }
    }

    pub(super) fn write(&mut self, place: Place<'_>, own: PhaseOverride) {
        match place {
            Place::Whole => self.to.policy.take_all(own),
            Place::Phase(phase) => {
                self.to.policy.overrides.insert(phase.to_owned(), own);
            }
        }
    }

    /// A phase that forgets has nothing of its own left, so who said that is all there is to say.
    fn forgotten(&mut self, place: Place<'_>, field: Field, written_at: &str) {
        match place {
            Place::Whole => self.cleared(field.name(), &place.path(written_at)),
            Place::Phase(_) => self.source(&place.key(field.name()), &place.path(written_at), None),
        }
    }

    /// A worker's types are free (C1), but one that is nearly a built-in kind is probably misspelt.
    fn check_types(&mut self, place: Place<'_>, hold_at: &Setting<Vec<Trigger>>) {
        if self.to.policy.scope.boundaries().is_some() {
            return;
        }
        for (index, trigger) in hold_at.set().into_iter().flatten().enumerate() {
            let On::Kind(BoundaryKind::Type(name)) = &trigger.on else { continue };
            let known =
                self.to.policy.checkpoint_types.contains(name) || BoundaryKind::check_type(name).is_err();
            if let Some(near) =
                closest(name, BoundaryKind::ALL.iter().map(BoundaryKind::name)).filter(|_| !known)
            {
                let index = index.to_string();
                let path: Vec<&str> =
                    place.path(Field::HoldAt.name()).into_iter().chain([index.as_str(), "on"]).collect();
                let message = format!("`{name}` is a checkpoint type of your own");
                self.say(Gravity::Notice, &path, message, Some(format!("did you mean `{near}`?")));
            }
        }
    }
}

impl Policy {
    /// Takes over what is said; a frequency of none is said too.
    pub(in crate::policy) fn take_all(&mut self, said: PhaseOverride) {
        let PhaseOverride { hold_at, check_in_frequency, warning_tolerance, error_tolerance, ask } = said;
        fn take<T>(to: &mut T, said: Option<T>) {
            if let Some(said) = said {
                *to = said;
            }
        }
        take(&mut self.hold_at, hold_at);
        self.check_in_frequency = check_in_frequency;
        take(&mut self.tolerance.warning, warning_tolerance);
        take(&mut self.tolerance.error, error_tolerance);
        take(&mut self.ask, ask);
    }
}

impl From<&Policy> for PhaseOverride {
    fn from(policy: &Policy) -> PhaseOverride {
        PhaseOverride {
            hold_at: Some(policy.hold_at.clone()),
            check_in_frequency: policy.check_in_frequency.clone(),
            warning_tolerance: Some(policy.tolerance.warning.clone()),
            error_tolerance: Some(policy.tolerance.error.clone()),
            ask: Some(policy.ask),
        }
    }
}

impl PhaseOverride {
    pub(super) fn has(&self, field: Field) -> bool {
        match field {
            Field::HoldAt => self.hold_at.is_some(),
            Field::CheckInFrequency => self.check_in_frequency.is_some(),
            Field::WarningTolerance => self.warning_tolerance.is_some(),
            Field::ErrorTolerance => self.error_tolerance.is_some(),
            Field::Ask => self.ask.is_some(),
        }
    }

    /// Takes one setting over from another.
    pub(super) fn take(&mut self, field: Field, from: &PhaseOverride) {
        match field {
            Field::HoldAt => self.hold_at.clone_from(&from.hold_at),
            Field::CheckInFrequency => self.check_in_frequency.clone_from(&from.check_in_frequency),
            Field::WarningTolerance => self.warning_tolerance.clone_from(&from.warning_tolerance),
            Field::ErrorTolerance => self.error_tolerance.clone_from(&from.error_tolerance),
            Field::Ask => self.ask = from.ask,
        }
    }
}
