//! What a checkpoint asks about, and the digest a verdict is bound to.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::document::{Document, Format};

/// Content of a deliverable. A JSON string is text; every other JSON value is kept in its canonical
/// form, so that the same value has the same digest whoever wrote it.
#[derive(Clone, Debug, PartialEq)]
pub enum Deliverable {
    Text(String),
    /// Not text, or a file as it came.
    Bytes(Vec<u8>),
    Json(serde_json::Value),
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
}

impl Deliverable {
    /// A JSON value as it arrives from a program.
    pub fn from_json(value: serde_json::Value) -> Deliverable {
        match value {
            serde_json::Value::String(text) => Deliverable::Text(text),
            other => Deliverable::Json(other),
        }
    }

    /// Text as a person types it: an object or a list is JSON, everything else is the text itself.
    ///
    /// JSON whose canonical form would say something else (a key twice, a number of too many digits)
    /// stays the text it is: what is approved is what was written.
    pub fn from_typed(text: String) -> Deliverable {
        let structured = text.trim_start().starts_with(['{', '[']);
        let faithful =
            || Document::parse("deliverable", &text, Format::Json).is_ok() && numbers_are_exact(&text);
        match serde_json::from_str(&text) {
            Ok(value) if structured && faithful() => Deliverable::Json(value),
            _ => Deliverable::Text(text),
        }
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
            Deliverable::Json(value) => serde_json_canonicalizer::to_vec(&value)
                .map_err(|error| DeliverableError::NotCanonical(error.to_string()))?,
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

impl From<serde_json::Value> for Deliverable {
    fn from(value: serde_json::Value) -> Deliverable {
        Deliverable::from_json(value)
    }
}

impl Encoding {
    /// The same bytes are always read the same way, whoever handed them in: content is kept once by its
    /// digest. A canonical object or list is JSON, other UTF-8 is text.
    fn of(bytes: &[u8]) -> Encoding {
        let structured = matches!(bytes.first(), Some(b'{' | b'['));
        let canonical = || {
            let value = serde_json::from_slice::<serde_json::Value>(bytes).ok()?;
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

/// Whether every number survives the 64-bit floats of canonical JSON: 15 digits always do.
fn numbers_are_exact(json: &str) -> bool {
    const DIGITS_MAX: usize = 15;
    let mut in_string = false;
    let mut escaped = false;
    let (mut digits, mut zeros) = (0, 0);
    let mut in_exponent = false;
    for c in json.chars() {
        if in_string {
            (in_string, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        match c {
            '"' => in_string = true,
            // Zeros before the first digit and after the last one say nothing.
            '0' if digits == 0 || in_exponent => {}
            '0' => zeros += 1,
            '1'..='9' if !in_exponent => (digits, zeros) = (digits + zeros + 1, 0),
            '0'..='9' | '.' | '-' | '+' => {}
            'e' | 'E' if digits > 0 => in_exponent = true,
            _ => (digits, zeros, in_exponent) = (0, 0, false),
        }
        if digits > DIGITS_MAX {
            return false;
        }
    }
    true
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
        assert_eq!(digest(Deliverable::from_typed(r#" { "b":1, "a":2 } "#.into())), of(r#"{"a":2,"b":1}"#));
        assert_eq!(digest(Deliverable::from_typed("42".into())), of("42"));
        assert_eq!(digest(Deliverable::from_typed("{not json".into())), of("{not json"));
        assert_eq!(digest(Deliverable::from_bytes(vec![0xff, 0])), Digest::of(&[0xff, 0]).to_string());
    }

    #[test]
    fn what_canonical_json_would_change_stays_text() {
        for text in [
            r#"{"amount": 9007199254740993}"#,
            r#"{"big": 123456789012345678901234567890}"#,
            r#"{"a": 1, "a": 2}"#,
            r#"[0.1234567890123456789]"#,
        ] {
            assert_eq!(Deliverable::from_typed(text.into()), Deliverable::Text(text.into()));
        }
        for text in
            [r#"{"amount": 900719925474099, "id": "12345678901234567890", "x": 1e300}"#, "[-0.000123]"]
        {
            assert!(matches!(Deliverable::from_typed(text.into()), Deliverable::Json(_)), "{text}");
        }
    }

    #[test]
    fn the_same_bytes_read_the_same_whoever_handed_them_in() {
        let typed = Deliverable::from_typed(r#"{"k":1}"#.into()).content().unwrap();
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
