//! What was said in a conversation.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Stage;

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ChatMessage")]
pub struct Message {
    /// In the order they were said
    pub number: i64,
    pub id: String,
    /// The person who said it; none where the companion did
    #[serde(rename = "by")]
    #[schemars(with = "Option<String>")]
    pub speaker: Speaker,
    /// Markdown
    pub text: String,
    pub status: MessageStatus,
    pub stage: Stage,
    /// What the companion looked at for it
    pub uses: Vec<ToolUse>,
    /// Why it broke off, or what else is worth knowing
    pub note: Option<String>,
    /// As the model counts them
    pub tokens: u64,
    pub said_at: Timestamp,
    /// When it last grew: an answer that has not for long is not being written any more. It is nobody's business who
    /// only reads.
    #[serde(skip)]
    pub updated_at: Timestamp,
}

/// Who said it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<String>", into = "Option<String>")]
pub enum Speaker {
    Person(String),
    Companion,
}

impl Speaker {
    /// The person's name; the companion has none.
    pub fn person(&self) -> Option<&str> {
        match self {
            Speaker::Person(name) => Some(name),
            Speaker::Companion => None,
        }
    }
}

impl From<Option<String>> for Speaker {
    fn from(person: Option<String>) -> Speaker {
        person.map_or(Speaker::Companion, Speaker::Person)
    }
}

impl From<Speaker> for Option<String> {
    fn from(speaker: Speaker) -> Option<String> {
        match speaker {
            Speaker::Person(name) => Some(name),
            Speaker::Companion => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// An answer that is being written.
    Writing,
    Done,
    /// Whoever wrote it is gone, or could not go on.
    BrokenOff,
}

impl MessageStatus {
    pub const ALL: [MessageStatus; 3] =
        [MessageStatus::Writing, MessageStatus::Done, MessageStatus::BrokenOff];

    pub const fn name(self) -> &'static str {
        match self {
            MessageStatus::Writing => "writing",
            MessageStatus::Done => "done",
            MessageStatus::BrokenOff => "broken_off",
        }
    }

    pub fn parse(text: &str) -> Option<MessageStatus> {
        MessageStatus::ALL.into_iter().find(|status| status.name() == text)
    }
}

/// A tool the companion used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolUse {
    pub tool: String,
    /// What it was asked for, in short
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_says_who_said_it_and_keeps_to_itself_when_it_grew() {
        let message = |speaker: Speaker| Message {
            number: 3,
            id: "m".to_owned(),
            speaker,
            text: "why?".to_owned(),
            status: MessageStatus::BrokenOff,
            stage: Stage::PlanReview,
            uses: vec![ToolUse { tool: "get_job".to_owned(), about: String::new(), failed: false }],
            note: None,
            tokens: 7,
            said_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        for (speaker, by) in
            [(Speaker::Person("ann".to_owned()), json!("ann")), (Speaker::Companion, json!(null))]
        {
            let written = serde_json::to_value(message(speaker.clone())).unwrap();
            assert_eq!(
                written,
                json!({
                    "number": 3, "id": "m", "by": by, "text": "why?", "status": "broken_off", "stage": "plan_review",
                    "uses": [{"tool": "get_job"}], "note": null, "tokens": 7, "said_at": "1970-01-01T00:00:00Z",
                })
            );
            assert_eq!(serde_json::from_value::<Message>(written).unwrap(), message(speaker));
        }
    }
}
