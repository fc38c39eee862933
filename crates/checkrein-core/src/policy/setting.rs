//! The shapes settings are written in: absent, cleared or set; a word or a whole map.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

/// One setting of one layer. `null` is not silence: it forgets what weaker layers said.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Setting<T> {
    #[default]
    Absent,
    Clear,
    Set(T),
}

impl<T> Setting<T> {
    pub fn set(&self) -> Option<&T> {
        match self {
            Setting::Set(value) => Some(value),
            Setting::Absent | Setting::Clear => None,
        }
    }

    /// Null becomes silence.
    pub(super) fn leave(&mut self) {
        if matches!(self, Setting::Clear) {
            *self = Setting::Absent;
        }
    }

    /// Silence becomes null.
    pub(super) fn or_clear(&mut self) {
        if matches!(self, Setting::Absent) {
            *self = Setting::Clear;
        }
    }

    pub fn is_absent(&self) -> bool {
        matches!(self, Setting::Absent)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Setting<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Setting<T>, D::Error> {
        Option::deserialize(deserializer).map(|value| value.map_or(Setting::Clear, Setting::Set))
    }
}

impl<T: JsonSchema> JsonSchema for Setting<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Option::<T>::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Option::<T>::json_schema(generator)
    }
}

/// Either one word or the long form, as in `autonomy: guided` and `autonomy: {level: guided, …}`.
#[derive(Clone, Debug, PartialEq)]
pub enum TextOr<T> {
    Text(String),
    Long(T),
}

/// By this name the document decoder recognises the choice and hands over text as text.
pub(crate) const TEXT_OR: &str = "text or a map";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for TextOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TextOr<T>, D::Error> {
        struct Either<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Either<T> {
            type Value = TextOr<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(TEXT_OR)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<TextOr<T>, E> {
                Ok(TextOr::Text(text.to_owned()))
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<TextOr<T>, D::Error> {
                T::deserialize(inner).map(TextOr::Long)
            }
        }

        deserializer.deserialize_newtype_struct(TEXT_OR, Either(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for TextOr<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("TextOr{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let long = generator.subschema_for::<T>();
        schemars::json_schema!({ "anyOf": [{ "type": "string" }, long] })
    }
}
