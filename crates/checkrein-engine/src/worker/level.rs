use std::fmt;
use std::str::FromStr;

/// How much a worker may do without a person.
///
/// ```
/// use checkrein_engine::worker::AutonomyLevel;
///
/// let level = AutonomyLevel::SemiSupervised;
/// println!("{}", level.value()); // semi_supervised
///
/// let all = AutonomyLevel::ALL.map(AutonomyLevel::value);
/// assert_eq!(all, ["manual", "semi_supervised", "autonomous"]);
/// ```
///
/// Read from text, a word that is none of them is refused with those that are (C2):
///
/// ```
/// use checkrein_engine::worker::AutonomyLevel;
///
/// assert_eq!("manual".parse(), Ok(AutonomyLevel::Manual));
/// let refused = "manuel".parse::<AutonomyLevel>().unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "`manuel` is no autonomy level; there are manual, semi_supervised, autonomous"
/// );
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AutonomyLevel {
    /// Holds at every checkpoint type.
    Manual,
    /// Holds at the listed checkpoint types.
    #[default]
    SemiSupervised,
    /// Never holds.
    Autonomous,
}

impl AutonomyLevel {
    pub const ALL: [AutonomyLevel; 3] =
        [AutonomyLevel::Manual, AutonomyLevel::SemiSupervised, AutonomyLevel::Autonomous];

    /// The word for it, in files and variables.
    pub const fn value(self) -> &'static str {
        match self {
            AutonomyLevel::Manual => "manual",
            AutonomyLevel::SemiSupervised => "semi_supervised",
            AutonomyLevel::Autonomous => "autonomous",
        }
    }
}

impl fmt::Display for AutonomyLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.value())
    }
}

/// A word that is no [`AutonomyLevel`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no autonomy level; there are {known}", known = AutonomyLevel::ALL.map(AutonomyLevel::value).join(", "))]
pub struct UnknownLevel(pub String);

impl FromStr for AutonomyLevel {
    type Err = UnknownLevel;

    fn from_str(word: &str) -> Result<AutonomyLevel, UnknownLevel> {
        let level = AutonomyLevel::ALL.into_iter().find(|level| level.value() == word);
        level.ok_or_else(|| UnknownLevel(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use checkrein_core::policy::{Level, Policy, Scope};

    use super::*;

    #[test]
    fn the_levels_are_those_of_the_table() {
        let table = Level::of(Scope::Worker).filter(|level| level.scope == Some(Scope::Worker));
        let words: Vec<&str> = table.map(|level| level.name).collect();
        assert_eq!(words, AutonomyLevel::ALL.map(AutonomyLevel::value));
        let default = Policy::builtin(Scope::Worker).level;
        assert_eq!(default.as_deref(), Some(AutonomyLevel::default().value()));
    }
}
