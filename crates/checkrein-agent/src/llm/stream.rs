//! What the streams of both dialects have in common: parts that grow.

use serde_json::Value;

use super::{Answer, Part, Stop, ToolCall, ToolInput, Usage};

/// An answer that is coming.
#[derive(Debug, Default)]
pub struct Coming {
    parts: Vec<(u64, Growing)>,
    pub stop: Option<Stop>,
    pub usage: Usage,
}

#[derive(Debug)]
pub enum Growing {
    Text(String),
    Thought {
        text: String,
        signature: String,
    },
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    /// Something this client knows nothing of.
    Other,
}

impl Coming {
    /// A part by its number, which is made where it is not there.
    pub fn part(&mut self, index: u64, new: impl FnOnce() -> Growing) -> &mut Growing {
        let at = match self.parts.iter().position(|(known, _)| *known == index) {
            Some(at) => at,
            None => {
                self.parts.push((index, new()));
                self.parts.len() - 1
            }
        };
        #[expect(clippy::indexing_slicing, reason = "it was found or put there above")]
        &mut self.parts[at].1
    }

    /// The whole; none where it has not ended.
    pub fn whole(self) -> Option<Answer> {
        let stop = self.stop?;
        let parts = self.parts.into_iter().filter_map(|(_, part)| match part {
            Growing::Text(text) => (!text.is_empty()).then_some(Part::Text(text)),
            Growing::Thought { text, signature } => {
                (!signature.is_empty()).then_some(Part::Thought { text, signature })
            }
            Growing::Call { id, name, arguments } => {
                Some(Part::ToolCall(ToolCall { id, name, input: input(arguments) }))
            }
            Growing::Other => None,
        });
        Some(Answer { parts: parts.collect(), stop, usage: self.usage })
    }
}

fn input(arguments: String) -> ToolInput {
    if arguments.trim().is_empty() {
        return ToolInput::Read(Value::Object(serde_json::Map::new()));
    }
    match serde_json::from_str(&arguments) {
        Ok(value @ Value::Object(_)) => ToolInput::Read(value),
        _ => ToolInput::Malformed(arguments),
    }
}

pub fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}
