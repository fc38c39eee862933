use checkrein_core::companion::{MessageStatus, ToolUse};
use checkrein_core::principal::Principal;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::shortened;
use super::{ReadTool, told};
use crate::{Act, Engine, EngineError};

/// Which part of the conversation.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ChatHistoryWanted {
    /// Go on after this message, as an answer names it in `next`
    pub after: Option<i64>,
    /// How many at most, 50 by default
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<usize>,
}

/// What people asked the companion about a job, and what it answered, the oldest first.
#[derive(Clone, Debug, Serialize)]
pub struct ChatHistory {
    pub messages: Vec<ChatSaid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ChatSaid {
    /// The person who said it; none where the companion did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub at: Timestamp,
    pub text: String,
    pub status: MessageStatus,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<ToolUse>,
}

const TEXT_CHARS_MAX: usize = 4_000;

pub(super) fn tool() -> ReadTool {
    let tool = ReadTool::new::<ChatHistoryWanted>(
        "get_chat_history",
        "What people asked the companion about the job, and what it answered.",
        |engine, by, job, wanted| {
            Box::pin(async move { told(&engine.chat_history_shown(by, job, &wanted).await?) })
        },
    );
    // What people say among themselves is not its agent's.
    ReadTool { act: Act::ReadChat, ..tool }
}

impl Engine {
    pub async fn chat_history_shown(
        &self,
        by: &Principal,
        job: &str,
        wanted: &ChatHistoryWanted,
    ) -> Result<ChatHistory, EngineError> {
        let limit = wanted.limit.unwrap_or(50).clamp(1, 200);
        let page = self.chat_history(by, job, wanted.after.unwrap_or(0), limit).await?;
        let said = page.items.into_iter().map(|message| ChatSaid {
            by: message.speaker.person().map(str::to_owned),
            at: message.said_at,
            text: shortened(&message.text, TEXT_CHARS_MAX),
            status: message.status,
            uses: message.uses,
        });
        Ok(ChatHistory { messages: said.collect(), next: page.next })
    }
}
