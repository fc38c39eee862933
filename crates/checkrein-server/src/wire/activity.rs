//! What agents do, and what they ask of models, as programs see it.

use checkrein_agent::requests::Kept;
use checkrein_core::activity::Activity as Did;
use checkrein_engine::{ActivityItem, ActivityPage, ModelRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Object;

/// One thing an agent did.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// The step, or the phase of a job
    pub task: String,
    pub attempt: u32,
    /// Which start of an attempt it was
    pub start: u64,
    #[serde(flatten)]
    pub activity: Did,
}

/// A part of what was done.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Activities {
    pub items: Vec<Activity>,
    /// Where the next part begins: give it as `after`
    pub next: String,
    /// Used by all attempts so far
    pub tokens: u64,
    pub cost: Option<f64>,
}

impl From<ActivityPage> for Activities {
    fn from(page: ActivityPage) -> Activities {
        let item = |item: ActivityItem| Activity {
            task: item.task,
            attempt: item.attempt,
            start: item.start,
            activity: item.activity,
        };
        Activities {
            items: page.items.into_iter().map(item).collect(),
            next: page.next,
            tokens: page.tokens,
            cost: page.cost,
        }
    }
}

/// A request to a model, and what came back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LlmRequest {
    /// START.NUMBER, which names it
    pub id: String,
    pub task: String,
    pub attempt: u32,
    #[schemars(with = "String")]
    pub started_at: jiff::Timestamp,
    pub duration_ms: u64,
    pub model: String,
    pub url: String,
    /// Which try it was, of the same request
    pub attempt_number: u32,
    pub status: Option<u16>,
    pub error: Option<String>,
    /// What was sent; left out in a list
    #[schemars(with = "Option<Object>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<serde_json::Value>,
    /// What was answered, with the tokens it took
    #[schemars(with = "Option<Object>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<serde_json::Value>,
}

impl LlmRequest {
    pub fn of(asked: ModelRequest, whole: bool) -> LlmRequest {
        let Kept { number, exchange } = asked.kept;
        LlmRequest {
            id: format!("{}.{number}", asked.start),
            task: asked.task,
            attempt: asked.attempt,
            started_at: exchange.started_at,
            duration_ms: exchange.duration_ms,
            model: exchange.model,
            url: exchange.url,
            attempt_number: exchange.attempt,
            status: exchange.status,
            error: exchange.error,
            request: whole.then_some(exchange.request),
            answer: exchange.answer.filter(|_| whole),
        }
    }
}
