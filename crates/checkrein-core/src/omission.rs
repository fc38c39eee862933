//! What is asked about and not shown in any view: approving it has to be confirmed (R17).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::deliverable::{Content, Encoding};

/// A part of what is asked about that no view shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Omission {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What is not shown, in words
    pub text: String,
}

/// Where a hold of a run names what it leaves out.
pub const NOT_SHOWN: &str = "not_shown";

impl Omission {
    /// Of what a worker handed in, or of what a run asks (`of_run`).
    pub fn of_content(content: &Content, of_run: bool) -> Vec<Omission> {
        match content.encoding {
            Encoding::Bytes => {
                let text = format!("{} bytes that are not text", content.bytes.len());
                vec![Omission { file: None, line: None, text }]
            }
            Encoding::Json if of_run => {
                let asked: Value = serde_json::from_slice(&content.bytes).unwrap_or_default();
                Omission::of_asked(&asked)
            }
            Encoding::Json | Encoding::Text => Vec::new(),
        }
    }

    /// Of what a run asks.
    pub fn of_asked(asked: &Value) -> Vec<Omission> {
        let list = asked.get(NOT_SHOWN).cloned().unwrap_or_else(|| Value::Array(Vec::new()));
        // What cannot be read is not shown either.
        serde_json::from_value(list).unwrap_or_else(|_| {
            vec![Omission { file: None, line: None, text: "what is left out".to_owned() }]
        })
    }

    /// Where it is: `src/a.rs:3`; empty where it is about the whole.
    pub fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            (None, _) => String::new(),
        }
    }
}

impl fmt::Display for Omission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place().as_str() {
            "" => f.write_str(&self.text),
            place => write!(f, "{place}: {}", self.text),
        }
    }
}

/// The first of them on one line, and how many more there are.
pub fn listed(omissions: &[Omission]) -> String {
    const NAMED_MAX: usize = 5;
    let mut words: Vec<String> = omissions.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    if let Some(more) = omissions.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        words.push(format!("and {more} more"));
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::deliverable::Deliverable;

    #[test]
    fn what_no_view_shows_is_named() {
        let of = |deliverable: Deliverable, of_run: bool| {
            listed(&Omission::of_content(&deliverable.content().unwrap(), of_run))
        };
        let asked = json!({"question": "?", "not_shown": [{"text": "3 more warnings"}]});
        for (deliverable, of_run, expected) in [
            (Deliverable::from("text"), false, ""),
            (Deliverable::from(vec![0xff, 0]), false, "2 bytes that are not text"),
            // Only a run says itself what it leaves out.
            (Deliverable::from(asked.clone()), false, ""),
            (Deliverable::from(asked), true, "3 more warnings"),
            (Deliverable::from(json!({"not_shown": 7})), true, "what is left out"),
        ] {
            assert_eq!(of(deliverable.clone(), of_run), expected, "{deliverable:?}");
        }
        let at = |line| Omission { file: Some("a.js".into()), line: Some(line), text: "9 bytes".into() };
        let many: Vec<Omission> = (1..=7).map(at).collect();
        assert!(listed(&many).starts_with("a.js:1: 9 bytes; ") && listed(&many).ends_with("; and 2 more"));
    }
}
