//! The name git gives an object.

use std::fmt;

use crate::error::ForgeError;

/// A full object name in hexadecimal, of either of git's two lengths.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(String);

impl Oid {
    pub fn parse(text: &str) -> Result<Oid, ForgeError> {
        let hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if hex && matches!(text.len(), 40 | 64) {
            Ok(Oid(text.to_owned()))
        } else {
            Err(ForgeError::NotAnOid { text: text.to_owned() })
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Oid, ForgeError> {
        Oid::parse(String::from_utf8_lossy(bytes).trim_ascii())
    }

    /// The name of no object, as long as this one.
    pub(crate) fn zero(&self) -> String {
        "0".repeat(self.0.len())
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
