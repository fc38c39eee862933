//! What tells workers apart that run on different machines: a word such as `gpu`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something a worker has and a run may require.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

const LENGTH_MAX: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a label: it takes 1 to 64 letters, digits and `-_.:/`")]
pub struct NotALabel(String);

impl Label {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Label {
    type Err = NotALabel;

    fn from_str(text: &str) -> Result<Label, NotALabel> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/".contains(c);
        if text.is_empty() || text.len() > LENGTH_MAX || !text.chars().all(plain) {
            return Err(NotALabel(text.chars().take(LENGTH_MAX).collect()));
        }
        Ok(Label(text.to_owned()))
    }
}

impl TryFrom<String> for Label {
    type Error = NotALabel;

    fn try_from(text: String) -> Result<Label, NotALabel> {
        text.parse()
    }
}

impl From<Label> for String {
    fn from(label: Label) -> String {
        label.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for Label {
    fn schema_name() -> Cow<'static, str> {
        "Label".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Something a worker has, such as `gpu`.",
            "type": "string",
            "pattern": "^[A-Za-z0-9._:/-]{1,64}$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_one_plain_word() {
        for text in ["gpu", "arm64", "team/a", "os:linux", "v1.2_x-y", &"a".repeat(64)] {
            assert_eq!(text.parse::<Label>().unwrap().as_str(), text);
        }
        for text in ["", " ", "a b", "a,b", "grün", "a\n", &"a".repeat(65)] {
            assert!(text.parse::<Label>().is_err(), "{text}");
        }
    }
}
