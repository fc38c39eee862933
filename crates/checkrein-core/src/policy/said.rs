//! A word somebody said: what it means, and the word itself where it is none we know.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Frequency, Tolerance};

/// A closed set of words in which an unknown one still has a ruled meaning (W9).
pub trait Word: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];
    /// What an unknown word means.
    const UNKNOWN: Self;
    /// That meaning, for the warning.
    const UNKNOWN_MEANS: &'static str;
}

impl Word for Tolerance {
    const WORDS: &'static [(&'static str, Tolerance)] = &[
        ("none", Tolerance::None),
        ("low", Tolerance::Low),
        ("medium", Tolerance::Medium),
        ("high", Tolerance::High),
    ];
    const UNKNOWN: Tolerance = Tolerance::Low;
    const UNKNOWN_MEANS: &'static str = "it ranks as `low`";
}

impl Word for Frequency {
    const WORDS: &'static [(&'static str, Frequency)] = &[
        ("per-step", Frequency::PerStep),
        ("per-phase", Frequency::PerPhase),
        ("end-only", Frequency::EndOnly),
    ];
    const UNKNOWN: Frequency = Frequency::Never;
    const UNKNOWN_MEANS: &'static str = "no check-in happens";
}

#[derive(Clone, Debug, PartialEq)]
pub struct Said<T> {
    pub meaning: T,
    /// Only where it is not one of the words.
    pub unknown: Option<String>,
}

impl<T: Word> Said<T> {
    pub fn parse(word: &str) -> Said<T> {
        match T::WORDS.iter().find(|(name, _)| *name == word) {
            Some((_, meaning)) => Said { meaning: *meaning, unknown: None },
            None => Said { meaning: T::UNKNOWN, unknown: Some(word.to_owned()) },
        }
    }

    /// As it was written.
    pub fn word(&self) -> &str {
        self.unknown.as_deref().unwrap_or_else(|| Said::name(self.meaning))
    }

    /// The word for a meaning.
    pub fn name(meaning: T) -> &'static str {
        T::WORDS.iter().find(|(_, known)| *known == meaning).map_or("never", |(name, _)| name)
    }
}

impl<T: Word> From<T> for Said<T> {
    fn from(meaning: T) -> Said<T> {
        Said { meaning, unknown: None }
    }
}

impl<T: Word> Serialize for Said<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de, T: Word> Deserialize<'de> for Said<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Said<T>, D::Error> {
        String::deserialize(deserializer).map(|word| Said::parse(&word))
    }
}

impl<T: JsonSchema> JsonSchema for Said<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}
