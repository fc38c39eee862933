use checkrein_core::principal::Principal;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::page::TEXT_CHARS_MAX;
use super::{ReadTool, told};
use crate::{Engine, EngineError, ModelRequest};

/// Which requests.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct LlmAskedWanted {
    /// One request, as START.NUMBER; without it they are listed
    pub request: Option<String>,
    /// In the list: leave out so many of the first. Of one request: begin at this character. As an answer names it in `next`
    pub after: Option<usize>,
    /// How many of a list at most, 50 by default
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<usize>,
}

/// What the built-in agent asked of its model, the oldest first.
#[derive(Clone, Debug, Serialize)]
pub struct LlmRequests {
    pub requests: Vec<LlmAsked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
}

/// One request in a list.
#[derive(Clone, Debug, Serialize)]
pub struct LlmAsked {
    /// START.NUMBER, which names it.
    pub id: String,
    pub task: String,
    pub attempt: u32,
    pub started_at: Timestamp,
    pub duration_ms: u64,
    pub model: String,
    pub url: String,
    /// Which try it was, of the same request.
    pub attempt_number: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One request with its answer: whole, or where it is longer than an answer may be, a part of it as text.
#[derive(Clone, Debug, Serialize)]
pub struct LlmAskedWhole {
    #[serde(flatten)]
    pub asked: LlmAsked,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Some characters of both as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
}

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<LlmAskedWanted>(
        "get_llm_request",
        "What the built-in agent asked of its model: a list, or one request with its answer, without secrets.",
        |engine, by, job, wanted| {
            Box::pin(async move {
                match wanted.request.clone() {
                    Some(request) => told(&engine.llm_request(by, job, &request, wanted.after).await?),
                    None => told(&engine.llm_requests(by, job, &wanted).await?),
                }
            })
        },
    )
}

impl Engine {
    async fn llm_requests(
        &self,
        by: &Principal,
        run: &str,
        wanted: &LlmAskedWanted,
    ) -> Result<LlmRequests, EngineError> {
        let (skip, limit) = (wanted.after.unwrap_or(0), wanted.limit.unwrap_or(50).clamp(1, 200));
        let mut found = self.model_requests(by, run, None).await?.into_iter().skip(skip);
        let requests = found.by_ref().take(limit).map(|one| LlmAsked::of(&one)).collect();
        Ok(LlmRequests { requests, next: found.next().map(|_| skip.saturating_add(limit)) })
    }

    async fn llm_request(
        &self,
        by: &Principal,
        run: &str,
        request: &str,
        after: Option<usize>,
    ) -> Result<LlmAskedWhole, EngineError> {
        let none = || EngineError::NoRequest(request.chars().take(100).collect());
        let one = self.model_requests(by, run, Some(request)).await?.pop().ok_or_else(none)?;
        let asked = LlmAsked::of(&one);
        let exchange = one.kept.exchange;
        let text = json!({"request": exchange.request, "answer": exchange.answer}).to_string();
        let (from, length) = (after.unwrap_or(0), text.chars().count());
        if from == 0 && length <= TEXT_CHARS_MAX {
            let (request, answer) = (Some(exchange.request), exchange.answer);
            return Ok(LlmAskedWhole { asked, request, answer, part: None, next: None });
        }
        let part: String = text.chars().skip(from).take(TEXT_CHARS_MAX).collect();
        let to = from.saturating_add(TEXT_CHARS_MAX);
        let next = (to < length).then_some(to);
        Ok(LlmAskedWhole { asked, request: None, answer: None, part: Some(part), next })
    }
}

impl LlmAsked {
    fn of(one: &ModelRequest) -> LlmAsked {
        let exchange = &one.kept.exchange;
        LlmAsked {
            id: format!("{}.{}", one.start, one.kept.number),
            task: one.task.clone(),
            attempt: one.attempt,
            started_at: exchange.started_at,
            duration_ms: exchange.duration_ms,
            model: exchange.model.clone(),
            url: exchange.url.clone(),
            attempt_number: exchange.attempt,
            status: exchange.status,
            error: exchange.error.clone(),
        }
    }
}
