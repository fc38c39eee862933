//! A client of language models, for the two dialects nearly all of them speak.
//!
//! [`Client::ask`] sends a conversation and gives the model's answer, with the tokens it took as the model counts them.
//! It streams: a [`Listener`] hears every piece as it comes. What can pass (rate limits, overload, a stream that is
//! cut) is tried again with patience; the rest is an [`LlmError`] that says what to do.

mod anthropic;
mod exchange;
mod openai;
mod retry;
mod sse;
mod stream;

use std::time::Duration;

use checkrein_core::config::model::{ModelApi, ModelShape, Price};
use serde_json::Value;

pub use exchange::{Exchange, redact};
pub use retry::Patience;

/// A model, and how it is reached.
#[derive(Clone)]
pub struct Model {
    pub api: ModelApi,
    /// Without a slash at its end.
    pub url: String,
    /// Never shown, and in no [`Exchange`].
    pub key: Option<String>,
    pub name: String,
    /// Of one answer.
    pub output_tokens_max: u32,
    /// What a conversation may grow to.
    pub context_tokens: u64,
    pub price: Price,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("api", &self.api)
            .field("url", &self.url)
            .field("name", &self.name)
            .finish()
    }
}

impl Model {
    /// A model as settings name it. `get` looks a variable up, for its key; a model on this machine may need none.
    pub fn of(shape: &ModelShape, get: impl Fn(&str) -> Option<String>) -> Result<Model, LlmError> {
        let variable = shape.key_variable();
        let key = get(variable).filter(|key| !key.trim().is_empty()).map(|key| key.trim().to_owned());
        let url = shape.address(&get);
        if key.is_none() && shape.needs_key() {
            return Err(LlmError::NoKey { variable: variable.to_owned() });
        }
        Ok(Model {
            api: shape.api,
            url: url.trim_end_matches('/').to_owned(),
            key,
            name: shape.model.clone(),
            output_tokens_max: shape.output_tokens_max(),
            context_tokens: shape.context_tokens(),
            price: shape.price.unwrap_or_default(),
        })
    }
}

/// What is sent to a model.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub system: String,
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A person, and what tools answered.
    User,
    Model,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    /// What a model thought, as far as it has to be sent back.
    Thought {
        text: String,
        signature: String,
    },
    ToolCall(ToolCall),
    ToolResult {
        call: String,
        text: String,
        failed: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub input: ToolInput,
}

/// Arguments as the model wrote them.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolInput {
    Read(Value),
    /// They are no JSON object.
    Malformed(String),
}

/// A tool the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// A JSON schema of an object.
    pub input: Value,
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub parts: Vec<Part>,
    pub stop: Stop,
    pub usage: Usage,
}

/// Why it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// It has said what it had to say.
    #[default]
    End,
    /// It waits for tools.
    Tools,
    /// There was no room for more.
    Length,
    /// It would not.
    Refused,
    Other(String),
}

/// Tokens, as the model counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Usage {
    /// What was read anew.
    pub input: u64,
    pub output: u64,
    /// What was read from the cache.
    pub cache_read: u64,
    /// What was read and put into the cache.
    pub cache_write: u64,
}

impl Usage {
    pub const fn tokens(self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.context_cached())
    }

    /// How long the conversation is by now.
    pub const fn context(self) -> u64 {
        self.tokens()
    }

    const fn context_cached(self) -> u64 {
        self.cache_read.saturating_add(self.cache_write)
    }

    pub fn cost(self, price: Price) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "nobody pays for so many tokens")]
        let million = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        million(self.input, price.input)
            + million(self.output, price.output)
            + million(self.cache_read, price.cache_read.unwrap_or(price.input))
            + million(self.cache_write, price.cache_write.unwrap_or(price.input))
    }

    pub const fn add(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

impl Message {
    /// What a person says.
    pub fn user(text: impl Into<String>) -> Message {
        Message { role: Role::User, parts: vec![Part::Text(text.into())] }
    }

    /// What the model answered, as it is part of the conversation from then on.
    pub fn model(answer: &Answer) -> Message {
        Message { role: Role::Model, parts: answer.parts.clone() }
    }
}

impl Answer {
    /// Everything it said in words.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// Hears what happens while a model is asked. Nothing has to be heard.
pub trait Listener: Send {
    /// The next words of the answer.
    fn text(&mut self, _piece: &str) {}
    /// The next words of what it thinks.
    fn thought(&mut self, _piece: &str) {}
    /// It is asked again after a while; what was heard of this answer does not count.
    fn again(&mut self, _why: &LlmError, _wait: Duration) {}
    /// A request was answered, or was not; every try is told, for the archive.
    fn exchanged(&mut self, _exchange: Exchange) {}
}

/// Hears nothing.
impl Listener for () {}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    #[error("the model needs a key, and `{variable}` is not set")]
    NoKey { variable: String },
    #[error("the model refused the key: {said}")]
    Unauthorized { said: String },
    #[error("the model allows no more requests for now: {said}")]
    RateLimited { said: String, retry_after: Option<Duration> },
    #[error("nothing is left to pay the model with: {said}")]
    NoCredit { said: String },
    #[error("the conversation is longer than the model can read: {said}")]
    TooLong { said: String },
    #[error("the model does not take the request ({status}): {said}")]
    Rejected { status: u16, said: String },
    #[error("the model cannot answer ({status}): {said}")]
    Overloaded { status: u16, said: String },
    #[error("the model cannot be reached: {0}")]
    Unreachable(String),
    #[error("the answer was cut off: {0}")]
    Cut(String),
    #[error("the answer makes no sense: {0}")]
    Unreadable(String),
}

impl LlmError {
    /// Whether the same request may be answered later.
    pub const fn passes(&self) -> bool {
        matches!(
            self,
            LlmError::RateLimited { .. }
                | LlmError::Overloaded { .. }
                | LlmError::Unreachable(_)
                | LlmError::Cut(_)
                | LlmError::Unreadable(_)
        )
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            LlmError::NoKey { variable } => {
                format!("export {variable}=…, or name another variable with `key_env`")
            }
            LlmError::Unauthorized { .. } => {
                "look whether the key is right and still valid, then resume".to_owned()
            }
            LlmError::RateLimited { retry_after: Some(wait), .. } => {
                format!("resume in {}s, or use another model", wait.as_secs())
            }
            LlmError::RateLimited { .. } | LlmError::Overloaded { .. } => {
                "resume later, or use another model".to_owned()
            }
            LlmError::NoCredit { .. } => "top up the account the key belongs to, then resume".to_owned(),
            LlmError::TooLong { .. } => "set `context_tokens` of the model to what it can read".to_owned(),
            LlmError::Rejected { status: 404, .. } => "look at `url` and `model` in the settings".to_owned(),
            LlmError::Unreachable(_) => "look at `url` in the settings, and at the network".to_owned(),
            LlmError::Rejected { .. } | LlmError::Cut(_) | LlmError::Unreadable(_) => return None,
        })
    }
}

/// Asks models. Cheap to clone; connections are kept.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    patience: Patience,
}

const CONNECT_MAX: Duration = Duration::from_secs(15);
/// A model may think before it says anything.
const SILENCE_MAX: Duration = Duration::from_secs(300);

impl Client {
    pub fn new(patience: Patience) -> Result<Client, LlmError> {
        // Whoever was first made the same choice.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .user_agent(concat!("checkrein/", env!("CARGO_PKG_VERSION")))
            // A key goes to the address it is meant for, and nowhere else.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_MAX)
            .read_timeout(SILENCE_MAX)
            .build()
            .map_err(|error| LlmError::Unreachable(exchange::words(&error)))?;
        Ok(Client { http, patience })
    }

    /// Asks a model, with patience.
    pub async fn ask(
        &self,
        model: &Model,
        request: &Request,
        listener: &mut dyn Listener,
    ) -> Result<Answer, LlmError> {
        let body = match model.api {
            ModelApi::Anthropic => anthropic::body(model, request),
            ModelApi::Openai => openai::body(model, request),
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let (asked, exchange) = exchange::exchange(&self.http, model, &body, tries, listener).await;
            listener.exchanged(exchange);
            let error = match asked {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(wait) = self.patience.wait(&error, tries) else { return Err(error) };
            listener.again(&error, wait);
            tokio::time::sleep(wait).await;
        }
    }
}
