//! Lengths of time as people write them: `90s`, `10m`, `1h 30m`, or a plain number of seconds.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A duration in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written(pub Duration);

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// What [`parse`] reads, for descriptions.
pub const PATTERN: &str = r"^\s*([0-9]{1,9}|([0-9]{1,9}(ms|s|m|h|d)\s*){1,5})\s*$";

/// Reads `1h 30m`; units from `ms` to `d`, in any order, each with a whole number.
pub fn parse(text: &str) -> Option<Duration> {
    let mut total_ms: u64 = 0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    if let Ok(seconds) = rest.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at_checked(digits)?;
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(letters)?;
        let (_, unit_ms) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total_ms = total_ms.checked_add(number.parse::<u64>().ok()?.checked_mul(*unit_ms)?)?;
        rest = tail.trim_start();
    }
    Some(Duration::from_millis(total_ms))
}

/// `1h 30m`: what [`parse`] reads back.
impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest_ms = self.0.as_millis();
        let mut between = "";
        for (unit, unit_ms) in UNITS.iter().rev() {
            let count = rest_ms / u128::from(*unit_ms);
            rest_ms %= u128::from(*unit_ms);
            if count > 0 {
                write!(f, "{between}{count}{unit}")?;
                between = " ";
            }
        }
        if between.is_empty() { f.write_str("0s") } else { Ok(()) }
    }
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A duration that may be missing, as text in a snapshot: `#[serde(with = "duration::text")]`.
pub mod text {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Written;

    pub fn serialize<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(Written).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Written>::deserialize(deserializer)?.map(|written| written.0))
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Written, D::Error> {
        struct Length;

        impl de::Visitor<'_> for Length {
            type Value = Written;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a length of time such as `90s`, `10m` or `1h 30m`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Written, E> {
                parse(text).map(Written).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }

            fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Written, E> {
                Ok(Written(Duration::from_secs(seconds)))
            }

            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Written, E> {
                let seconds = u64::try_from(seconds);
                seconds
                    .map(|s| Written(Duration::from_secs(s)))
                    .map_err(|_| E::custom("a length of time is not negative"))
            }
        }

        deserializer.deserialize_any(Length)
    }
}

impl JsonSchema for Written {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A length of time: `90s`, `10m`, `1h 30m`, or a number of seconds.",
            "type": ["string", "integer"],
            "minimum": 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_as_written() {
        for (text, expected_ms) in [
            ("90s", Some(90_000)),
            ("10m", Some(600_000)),
            ("1h 30m", Some(5_400_000)),
            ("1h30m", Some(5_400_000)),
            ("250ms", Some(250)),
            ("2d", Some(172_800_000)),
            ("45", Some(45_000)),
            ("", None),
            ("h", None),
            ("1.5h", None),
            ("10 m", None),
            ("5y", None),
            ("-3s", None),
            ("99999999999999999999d", None),
        ] {
            assert_eq!(parse(text), expected_ms.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for (ms, expected) in [
            (0, "0s"),
            (1, "1ms"),
            (90_000, "1m 30s"),
            (7_200_000, "2h"),
            (93_784_005, "1d 2h 3m 4s 5ms"),
            (u64::MAX, "213503982334d 14h 25m 51s 615ms"),
        ] {
            let time = Duration::from_millis(ms);
            assert_eq!(Written(time).to_string(), expected);
            assert_eq!(parse(expected), Some(time), "{expected}");
        }
    }
}
