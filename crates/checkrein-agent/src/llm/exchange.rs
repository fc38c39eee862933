//! One request to a model and what came back, as it is kept.

use std::time::{Duration, Instant};

use checkrein_core::config::model::ModelApi;
use checkrein_core::shown::with_causes;
use jiff::Timestamp;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::sse::Events;
use super::stream::{Coming, text};
use super::{Answer, Listener, LlmError, Model, Part, ToolInput, anthropic, openai};

/// A request and its answer, whole. The key is not in it; what else is secret is taken out by [`redact`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    pub started_at: Timestamp,
    pub duration_ms: u64,
    pub url: String,
    pub model: String,
    /// Counted from 1 for the same request.
    pub attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What was sent.
    pub request: Value,
    /// What was answered; none where there was no whole answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Takes secrets out of everything in a value.
pub fn redact(value: &mut Value, secrets: &[String]) {
    let clean = |text: &mut String| {
        for secret in secrets.iter().filter(|secret| secret.len() >= 4) {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), "***");
            }
        }
    };
    match value {
        Value::String(text) => clean(text),
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, secrets)),
        Value::Object(fields) => fields.values_mut().for_each(|field| redact(field, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// No answer is longer.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// So much of a refusal is read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

pub(super) async fn exchange(
    http: &reqwest::Client,
    model: &Model,
    body: &Value,
    attempt: u32,
    listener: &mut dyn Listener,
) -> (Result<Answer, LlmError>, Exchange) {
    let path = match model.api {
        ModelApi::Anthropic => anthropic::PATH,
        ModelApi::Openai => openai::PATH,
    };
    let url = format!("{}{path}", model.url);
    let (started_at, begun) = (Timestamp::now(), Instant::now());
    let mut status = None;
    let answered = send(http, model, &url, body, &mut status, listener).await;
    let exchange = Exchange {
        started_at,
        duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        url,
        model: model.name.clone(),
        attempt,
        status,
        request: body.clone(),
        answer: answered.as_ref().ok().map(as_json),
        error: answered.as_ref().err().map(ToString::to_string),
    };
    (answered, exchange)
}

async fn send(
    http: &reqwest::Client,
    model: &Model,
    url: &str,
    body: &Value,
    status: &mut Option<u16>,
    listener: &mut dyn Listener,
) -> Result<Answer, LlmError> {
    let unreachable = |error: reqwest::Error| LlmError::Unreachable(words(&error.without_url()));
    let sent = http.post(url).headers(headers(model)?).json(body).send().await.map_err(unreachable)?;
    *status = Some(sent.status().as_u16());
    if !sent.status().is_success() {
        return Err(refused(sent).await);
    }
    listen(model, sent, listener).await
}

fn headers(model: &Model) -> Result<HeaderMap, LlmError> {
    let mut headers = HeaderMap::new();
    let mut put = |name: &'static str, value: String, secret: bool| -> Result<(), LlmError> {
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| LlmError::Unauthorized { said: "the key has characters no key has".to_owned() })?;
        value.set_sensitive(secret);
        headers.insert(HeaderName::from_static(name), value);
        Ok(())
    };
    match model.api {
        ModelApi::Anthropic => {
            put("anthropic-version", anthropic::VERSION.to_owned(), false)?;
            if let Some(key) = &model.key {
                put("x-api-key", key.clone(), true)?;
            }
        }
        ModelApi::Openai => {
            if let Some(key) = &model.key {
                put("authorization", format!("Bearer {key}"), true)?;
            }
        }
    }
    Ok(headers)
}

async fn listen(
    model: &Model,
    mut sent: reqwest::Response,
    listener: &mut dyn Listener,
) -> Result<Answer, LlmError> {
    let (mut events, mut coming, mut read) = (Events::default(), Coming::default(), 0);
    loop {
        let piece = sent.chunk().await.map_err(|error| LlmError::Cut(words(&error.without_url())))?;
        let Some(piece) = piece else { break };
        read += piece.len();
        if read > ANSWER_BYTES_MAX {
            return Err(LlmError::Rejected { status: 200, said: "the answer has no end".to_owned() });
        }
        for data in events.push(&piece).map_err(|why| LlmError::Unreadable(why.to_owned()))? {
            if data == "[DONE]" {
                continue;
            }
            let event: Value =
                serde_json::from_str(&data).map_err(|error| LlmError::Unreadable(error.to_string()))?;
            match model.api {
                ModelApi::Anthropic => anthropic::hear(&mut coming, &event, listener)?,
                ModelApi::Openai => openai::hear(&mut coming, &event, listener)?,
            }
        }
    }
    coming.whole().ok_or_else(|| LlmError::Cut("the stream ended before the answer did".to_owned()))
}

async fn refused(mut sent: reqwest::Response) -> LlmError {
    let (status, headers) = (sent.status(), sent.headers().clone());
    let mut body = Vec::new();
    while let Ok(Some(piece)) = sent.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() > REFUSAL_BYTES_MAX {
            break;
        }
    }
    judged(status, &headers, &String::from_utf8_lossy(&body), Timestamp::now())
}

fn judged(status: StatusCode, headers: &HeaderMap, body: &str, now: Timestamp) -> LlmError {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let error = value.get("error").unwrap_or(&Value::Null);
    let said = match text(error, "message") {
        "" => body.chars().take(300).collect::<String>().trim().to_owned(),
        message => message.to_owned(),
    };
    let kind = [text(error, "code"), text(error, "type")].join(" ");
    let lower = said.to_lowercase();
    let too_long = kind.contains("context_length_exceeded")
        || ["prompt is too long", "maximum context length", "context window", "too many tokens"]
            .iter()
            .any(|words| lower.contains(words));
    match status.as_u16() {
        400 | 413 if too_long => LlmError::TooLong { said },
        402 => LlmError::NoCredit { said },
        400 | 403 | 429 if kind.contains("insufficient_quota") || lower.contains("credit balance") => {
            LlmError::NoCredit { said }
        }
        401 | 403 => LlmError::Unauthorized { said },
        429 => LlmError::RateLimited { said, retry_after: retry_after(headers, now) },
        status @ (408 | 409 | 500..=599) => LlmError::Overloaded { status, said },
        status => LlmError::Rejected { status, said },
    }
}

/// Seconds, or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = said("retry-after-ms").and_then(|text| text.parse::<u64>().ok()) {
        return Some(Duration::from_millis(ms));
    }
    let said = said("retry-after")?;
    if let Ok(seconds) = said.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(said).ok()?;
    date.duration_since(now).try_into().ok()
}

/// An answer as it is kept.
fn as_json(answer: &Answer) -> Value {
    let parts = answer.parts.iter().map(|part| match part {
        Part::Text(text) => json!({"text": text}),
        Part::Thought { text, .. } => json!({"thought": text}),
        Part::ToolCall(call) => match &call.input {
            ToolInput::Read(input) => json!({"call": call.name, "id": call.id, "input": input}),
            ToolInput::Malformed(raw) => json!({"call": call.name, "id": call.id, "malformed": raw}),
        },
        Part::ToolResult { call, text, failed } => json!({"result": call, "text": text, "failed": failed}),
    });
    let stop = match &answer.stop {
        super::Stop::End => "end",
        super::Stop::Tools => "tools",
        super::Stop::Length => "length",
        super::Stop::Refused => "refused",
        super::Stop::Other(other) => other,
    };
    json!({"parts": parts.collect::<Vec<_>>(), "stop": stop, "usage": answer.usage})
}

/// An error with what caused it; the address is not in it.
pub(super) fn words(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    with_causes(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_refusals_are_judged() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        for (status, after, body, expected) in [
            (401, "", r#"{"error": {"message": "bad key"}}"#, "the model refused the key: bad key"),
            (403, "", "nope", "the model refused the key: nope"),
            (429, "7", "{}", "the model allows no more requests for now: {}"),
            (
                429,
                "",
                r#"{"error": {"code": "insufficient_quota", "message": "pay"}}"#,
                "nothing is left to pay the model with: pay",
            ),
            (
                400,
                "",
                r#"{"error": {"message": "Your credit balance is too low"}}"#,
                "nothing is left to pay the model with: Your credit balance is too low",
            ),
            (
                400,
                "",
                r#"{"error": {"message": "prompt is too long: 9 > 8"}}"#,
                "the conversation is longer than the model can read: prompt is too long: 9 > 8",
            ),
            (
                400,
                "",
                r#"{"error": {"code": "context_length_exceeded", "message": "x"}}"#,
                "the conversation is longer than the model can read: x",
            ),
            (400, "", "odd", "the model does not take the request (400): odd"),
            (
                404,
                "",
                r#"{"error": {"message": "no such model"}}"#,
                "the model does not take the request (404): no such model",
            ),
            (529, "", r#"{"error": {"message": "overloaded"}}"#, "the model cannot answer (529): overloaded"),
        ] {
            let mut headers = HeaderMap::new();
            if !after.is_empty() {
                headers.insert("retry-after", after.parse().unwrap());
            }
            let error = judged(StatusCode::from_u16(status).unwrap(), &headers, body, now);
            assert_eq!(error.to_string(), expected);
            if let LlmError::RateLimited { retry_after, .. } = error {
                assert_eq!(retry_after, Some(Duration::from_secs(7)));
            }
        }
    }

    #[test]
    fn secrets_are_taken_out_everywhere() {
        let mut value = json!({"a": ["hunter2 is here", {"b": "x hunter2"}], "n": 1});
        redact(&mut value, &["hunter2".to_owned(), "x".to_owned()]);
        assert_eq!(value, json!({"a": ["*** is here", {"b": "x ***"}], "n": 1}));
    }
}
