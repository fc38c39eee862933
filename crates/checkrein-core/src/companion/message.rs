//! What was said in a conversation.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Stage;

/// One message, as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// In the order they were said.
    pub number: i64,
    pub id: String,
    pub speaker: Speaker,
    pub text: String,
    pub status: MessageStatus,
    pub stage: Stage,
    /// What the companion looked at for it.
    pub uses: Vec<ToolUse>,
    /// Why it broke off, or what else a reader should know.
    pub note: Option<String>,
    /// What the model counted for it.
    pub tokens: u64,
    pub said_at: Timestamp,
    /// When it last grew; an answer that has not for long is not being written any more.
    pub updated_at: Timestamp,
}

/// Who said it.
#[derive(Clone, Debug, PartialEq, Eq)]
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
