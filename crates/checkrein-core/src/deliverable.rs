//! What a checkpoint asks about, and the digest a verdict is bound to.

use std::collections::HashSet;
use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

/// Content of a deliverable. A JSON string is text; every other JSON value is kept in its canonical
/// form, so that the same value has the same digest whoever wrote it.
#[derive(Clone, Debug, PartialEq)]
pub enum Deliverable {
    Text(String),
    /// Not text, or a file as it came.
    Bytes(Vec<u8>),
    Json(Value),
}

/// Larger ones belong in a repository or a bucket, with a pointer to them here.
pub const DELIVERABLE_BYTES_MAX: usize = 16 << 20;

/// How the stored bytes are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    Text,
    Bytes,
    Json,
}

/// Deliverable as it is stored: bytes, how to read them, and their digest.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    pub digest: Digest,
    pub encoding: Encoding,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliverableError {
    #[error("the deliverable is larger than {} MiB", DELIVERABLE_BYTES_MAX >> 20)]
    TooLarge,
    #[error("the deliverable has no canonical form: {0}")]
    NotCanonical(String),
    /// Canonical JSON has doubles for numbers.
    #[error("the number `{0}` would come back as another one")]
    Inexact(String),
    #[error("the key `{0}` is given twice")]
    DuplicateKey(String),
}

impl DeliverableError {
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            DeliverableError::Inexact(_) => Some("send it as text: write the number between quotes"),
            DeliverableError::DuplicateKey(_) => Some("leave one of them out"),
            DeliverableError::TooLarge | DeliverableError::NotCanonical(_) => None,
        }
    }
}

impl Deliverable {
    /// A JSON value as it arrives from a program.
    pub fn from_json(value: Value) -> Deliverable {
        match value {
            Value::String(text) => Deliverable::Text(text),
            other => Deliverable::Json(other),
        }
    }

    /// Text as a person types it: an object or a list is JSON, everything else is the text itself.
    pub fn from_typed(text: String) -> Result<Deliverable, DeliverableError> {
        let structured = text.trim_start().starts_with(['{', '[']);
        if !structured || serde_json::from_str::<IgnoredAny>(&text).is_err() {
            return Ok(Deliverable::Text(text));
        }
        check_exact(&text)?;
        let value = serde_json::from_str(&text);
        value.map(Deliverable::Json).map_err(|error| DeliverableError::NotCanonical(error.to_string()))
    }

    /// JSON the engine makes of what agents hand in, which is coerced and not refused: a number that canonical
    /// JSON cannot hold is written as text.
    pub fn from_data(mut value: Value) -> Deliverable {
        spell_out(&mut value);
        Deliverable::Json(value)
    }

    /// Bytes of a file: text where they are text.
    pub fn from_bytes(bytes: Vec<u8>) -> Deliverable {
        match String::from_utf8(bytes) {
            Ok(text) => Deliverable::Text(text),
            Err(error) => Deliverable::Bytes(error.into_bytes()),
        }
    }

    pub fn content(self) -> Result<Content, DeliverableError> {
        let bytes = match self {
            Deliverable::Text(text) => text.into_bytes(),
            Deliverable::Bytes(bytes) => bytes,
            Deliverable::Json(value) => {
                if let Some(number) = first_rounded(&value) {
                    return Err(DeliverableError::Inexact(number.to_string()));
                }
                serde_json_canonicalizer::to_vec(&value)
                    .map_err(|error| DeliverableError::NotCanonical(error.to_string()))?
            }
        };
        if bytes.len() > DELIVERABLE_BYTES_MAX {
            return Err(DeliverableError::TooLarge);
        }
        Ok(Content { digest: Digest::of(&bytes), encoding: Encoding::of(&bytes), bytes })
    }
}

impl From<&str> for Deliverable {
    fn from(text: &str) -> Deliverable {
        Deliverable::Text(text.to_owned())
    }
}

impl From<String> for Deliverable {
    fn from(text: String) -> Deliverable {
        Deliverable::Text(text)
    }
}

impl From<Vec<u8>> for Deliverable {
    fn from(bytes: Vec<u8>) -> Deliverable {
        Deliverable::from_bytes(bytes)
    }
}

impl From<Value> for Deliverable {
    fn from(value: Value) -> Deliverable {
        Deliverable::from_json(value)
    }
}

impl Encoding {
    /// The same bytes are always read the same way, whoever handed them in: content is kept once by its
    /// digest. A canonical object or list is JSON, other UTF-8 is text.
    fn of(bytes: &[u8]) -> Encoding {
        let structured = matches!(bytes.first(), Some(b'{' | b'['));
        let canonical = || {
            let value = serde_json::from_slice::<Value>(bytes).ok()?;
            serde_json_canonicalizer::to_vec(&value).ok()
        };
        if structured && canonical().as_deref() == Some(bytes) {
            Encoding::Json
        } else if std::str::from_utf8(bytes).is_ok() {
            Encoding::Text
        } else {
            Encoding::Bytes
        }
    }
}

/// Whether JSON still says the same once it was read (R2): no number becomes another one, and no key stands
/// twice. It has to be well formed.
pub fn check_exact(json: &str) -> Result<(), DeliverableError> {
    scan(json, |number| {
        is_exact(number).then_some(()).ok_or_else(|| DeliverableError::Inexact(beginning(number)))
    })
}

/// The same about keys alone, for JSON whose numbers are settings and not judged.
pub fn check_keys(json: &str) -> Result<(), DeliverableError> {
    scan(json, |_| Ok(()))
}

fn scan(
    json: &str,
    check_number: impl Fn(&str) -> Result<(), DeliverableError>,
) -> Result<(), DeliverableError> {
    // The keys of every object that is open; a list has none.
    let mut open: Vec<HashSet<String>> = Vec::new();
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => {
                let (text, after) = rest.split_at_checked(string_length(rest)).unwrap_or((rest, ""));
                if after.trim_start().starts_with(':')
                    && let Some(keys) = open.last_mut()
                {
                    let key: String = serde_json::from_str(text).unwrap_or_else(|_| text.to_owned());
                    let name = beginning(&key);
                    if !keys.insert(key) {
                        return Err(DeliverableError::DuplicateKey(name));
                    }
                }
                text.len()
            }
            '{' | '[' => {
                open.push(HashSet::new());
                1
            }
            '}' | ']' => {
                open.pop();
                1
            }
            '-' | '0'..='9' => {
                let of_number = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
                let number = rest.split_once(|c| !of_number(c)).map_or(rest, |(number, _)| number);
                check_number(number)?;
                number.len()
            }
            other => other.len_utf8(),
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(())
}

/// Of the string a text begins with, its quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether the double nearest to a number, in its shortest form, is the same number.
fn is_exact(number: &str) -> bool {
    match number.parse::<f64>() {
        Ok(double) if double.is_finite() => decimal(number) == decimal(&format!("{double:e}")),
        _ => false,
    }
}

/// The digits of a number without zeros at their ends, and the power of ten of the last one.
fn decimal(number: &str) -> (String, i64) {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return (String::new(), 0);
    }
    let places = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let exponent: i64 = exponent.parse().unwrap_or(i64::MAX);
    let power = exponent.saturating_sub(places(fraction));
    (significant.to_owned(), power.saturating_add(places(digits)).saturating_sub(places(significant)))
}

/// Whether canonical JSON cannot hold a number.
fn is_rounded(number: &Number) -> bool {
    const INTEGER_MAX: u64 = 1 << 53;
    let small =
        number.as_i64().map(i64::unsigned_abs).or(number.as_u64()).is_some_and(|whole| whole <= INTEGER_MAX);
    !small && !is_exact(&number.to_string())
}

fn first_rounded(value: &Value) -> Option<&Number> {
    match value {
        Value::Number(number) => Some(number).filter(|number| is_rounded(number)),
        Value::Array(items) => items.iter().find_map(first_rounded),
        Value::Object(fields) => fields.values().find_map(first_rounded),
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

fn spell_out(value: &mut Value) {
    match value {
        Value::Number(number) if is_rounded(number) => *value = Value::String(number.to_string()),
        Value::Array(items) => items.iter_mut().for_each(spell_out),
        Value::Object(fields) => fields.values_mut().for_each(spell_out),
        _ => {}
    }
}

/// Of something in a message, where it may be long.
fn beginning(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl Content {
    /// What was delivered. Bytes that no longer read as what they were are shown as bytes.
    pub fn deliverable(&self) -> Deliverable {
        let bytes = || Deliverable::Bytes(self.bytes.clone());
        match self.encoding {
            Encoding::Bytes => bytes(),
            Encoding::Text => {
                String::from_utf8(self.bytes.clone()).map_or_else(|_| bytes(), Deliverable::Text)
            }
            Encoding::Json => serde_json::from_slice(&self.bytes).map_or_else(|_| bytes(), Deliverable::Json),
        }
    }
}

/// A SHA-256, written in lower-case hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// From its 32 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Digest> {
        bytes.try_into().ok().map(Digest)
    }

    /// From hexadecimal, with or without `sha256:` before it.
    pub fn parse(text: &str) -> Option<Digest> {
        let hex = text.trim();
        let hex = hex.strip_prefix("sha256:").unwrap_or(hex);
        if hex.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Digest(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In one piece, since every event is written with one.
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            for (digit, value) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
                *digit = if value < 10 { b'0' + value } else { b'a' + value - 10 };
            }
        }
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::parse(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a SHA-256 digest")))
    }
}

impl schemars::JsonSchema for Digest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A SHA-256 in hexadecimal; `sha256:` may stand before it",
            "type": "string",
            "pattern": "^\\s*(sha256:)?[0-9a-fA-F]{64}\\s*$"
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(deliverable: Deliverable) -> String {
        deliverable.content().unwrap().digest.to_string()
    }

    #[test]
    fn digests_are_those_of_the_bytes_or_of_the_canonical_value() {
        let of = |text: &str| Digest::of(text.as_bytes()).to_string();
        assert_eq!(of("draft"), "7743ce348d9284d677a185f33295b92266cc435a5b5f775029b300066d26693a");
        assert_eq!(digest(Deliverable::Text("draft".into())), of("draft"));
        assert_eq!(digest(Deliverable::from_json(json!("draft"))), of("draft"));
        assert_eq!(
            digest(Deliverable::from_json(json!({"b": 1, "a": [1.0, "ü"]}))),
            of(r#"{"a":[1,"ü"],"b":1}"#)
        );
        assert_eq!(
            digest(Deliverable::from_typed(r#" { "b":1, "a":2 } "#.into()).unwrap()),
            of(r#"{"a":2,"b":1}"#)
        );
        assert_eq!(digest(Deliverable::from_typed("42".into()).unwrap()), of("42"));
        assert_eq!(digest(Deliverable::from_typed("{not json".into()).unwrap()), of("{not json"));
        assert_eq!(digest(Deliverable::from_bytes(vec![0xff, 0])), Digest::of(&[0xff, 0]).to_string());
    }

    #[test]
    fn what_reading_would_change_is_refused() {
        let number = |text: &str| Err(DeliverableError::Inexact(text.to_owned()));
        let key = |text: &str| Err(DeliverableError::DuplicateKey(text.to_owned()));
        for (text, expected) in [
            (r#"{"amount": 9007199254740993}"#, number("9007199254740993")),
            (r#"{"amount": -9007199254740993}"#, number("-9007199254740993")),
            (r#"{"big": 123456789012345678901234567890}"#, number("123456789012345678901234567890")),
            ("[0.1234567890123456789]", number("0.1234567890123456789")),
            ("[1e400]", number("1e400")),
            ("[1, 1e-400]", number("1e-400")),
            (r#"{"a": 1, "a": 2}"#, key("a")),
            (r#"{"a": 1, "\u0061": 1}"#, key("a")),
            (r#"[{"x": {"b": 1, "c": [], "b": 1}}]"#, key("b")),
        ] {
            assert_eq!(Deliverable::from_typed(text.into()).map(drop), expected, "{text}");
            let keys = expected.or_else(|error| match error {
                DeliverableError::Inexact(_) => Ok(()),
                other => Err(other),
            });
            assert_eq!(check_keys(text), keys, "{text}");
        }
        for text in [
            r#"{"amount": 9007199254740992, "id": "12345678901234567890", "x": 1e300, "y": 100000000000000000000}"#,
            "[-0.000123, 0.1, 1.0, 1.50, -0, 0.0, 5E-3, 1e+2, 123456789.123, 18446744073709552000]",
            r#"[{"a": 1}, {"a": 2, "b": {"a": "a:{\"a\"", "c": "\\"}}, "a", "a"]"#,
        ] {
            let read = Deliverable::from_typed(text.into());
            assert!(matches!(read, Ok(Deliverable::Json(_))), "{text}: {read:?}");
            assert!(read.unwrap().content().is_ok(), "{text}");
        }
    }

    #[test]
    fn values_of_programs_are_held_to_the_same() {
        let big = json!({"a": [1, {"b": 9_007_199_254_740_993_u64}]});
        let refused = Deliverable::from_json(big.clone()).content();
        assert_eq!(refused, Err(DeliverableError::Inexact("9007199254740993".into())));
        let made = Deliverable::from_data(big).content().unwrap();
        assert_eq!(made.bytes, br#"{"a":[1,{"b":"9007199254740993"}]}"#);
        assert_eq!(Deliverable::from_json(Value::Null).content().unwrap().bytes, b"null");
        assert!(Deliverable::from_json(json!([u32::MAX, i32::MIN, 1e300, 0.1, -1])).content().is_ok());
    }

    #[test]
    fn the_same_bytes_read_the_same_whoever_handed_them_in() {
        let typed = Deliverable::from_typed(r#"{"k":1}"#.into()).unwrap().content().unwrap();
        let file = Deliverable::from_bytes(br#"{"k":1}"#.to_vec()).content().unwrap();
        assert_eq!(typed, file);
        assert_eq!(file.deliverable(), Deliverable::Json(json!({"k": 1})));
    }

    #[test]
    fn content_reads_back_as_what_it_was() {
        for deliverable in [
            Deliverable::Text("ü".into()),
            Deliverable::Bytes(vec![0xff]),
            Deliverable::Json(json!({"a": null})),
        ] {
            assert_eq!(deliverable.clone().content().unwrap().deliverable(), deliverable);
        }
    }

    #[test]
    fn a_digest_is_read_with_and_without_its_name() {
        let digest = Digest::of(b"x");
        for (text, expected) in [
            (digest.to_string(), Some(digest)),
            (format!("sha256:{digest}"), Some(digest)),
            (digest.to_string().to_uppercase(), Some(digest)),
            ("abc".into(), None),
            ("zz".repeat(32), None),
            ("ü".repeat(32), None),
        ] {
            assert_eq!(Digest::parse(&text), expected, "{text}");
        }
    }

    #[test]
    fn too_large_is_refused() {
        let bytes = vec![0; DELIVERABLE_BYTES_MAX + 1];
        assert_eq!(Deliverable::Bytes(bytes).content(), Err(DeliverableError::TooLarge));
    }
}
