//! One request to a forge's API, and what its answer means for whoever asked.

use std::time::Duration;

use checkrein_core::shown::with_causes;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{ACCEPT, AUTHORIZATION, DATE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, Method, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Token;

/// Why a forge did not do what it was asked for. Nothing of it means that something was merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    #[error("the forge cannot be reached: {reason}")]
    Unreachable { reason: String },
    #[error("the forge answered {status}: {said}")]
    Busy { status: u16, said: String, retry_after: Option<Duration> },
    /// It may be otherwise in a moment: mergeability is being computed, a check is missing.
    #[error("the forge does not do it now ({status}): {said}")]
    NotNow { status: u16, said: String },
    /// Its rules for the branch forbid it: a check has not passed, an approval is missing.
    #[error("the rules of the forge do not allow it yet: {said}")]
    Barred { said: String },
    #[error("the forge refused ({status}): {said}")]
    Refused { status: u16, said: String },
    #[error("there is no `{what}` in the forge, or its account may not see it")]
    NotFound { what: String },
    #[error("the forge's answer was not understood: {reason}")]
    Odd { reason: String },
    #[error(transparent)]
    Git(#[from] crate::ForgeError),
}

impl RemoteError {
    /// Told from a forge that is not ready, by the words it has for its rules.
    pub(super) fn of_rules(self, words: &[&str]) -> RemoteError {
        match self {
            RemoteError::NotNow { said, .. } if words.iter().any(|word| said.contains(word)) => {
                RemoteError::Barred { said }
            }
            other => other,
        }
    }

    /// How long the forge wants to be left alone.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            RemoteError::Busy { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Http {
    client: Client,
    api: String,
    headers: HeaderMap,
}

/// An answer that was a success.
pub(super) struct Told {
    pub body: Vec<u8>,
    pub headers: HeaderMap,
}

/// Longer answers are no answers to what we ask.
const ANSWER_BYTES_MAX: usize = 32 << 20;
const SAID_CHARS_MAX: usize = 300;
const REDIRECTS_MAX: usize = 3;
/// So many pages are read of a list.
pub(super) const PAGES_MAX: usize = 40;
const PAGE: usize = 50;

impl Http {
    pub fn new(client: Client, api: String, token: &Token, accept: &'static str) -> Http {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let scheme = if accept == "application/json" { "token" } else { "Bearer" };
        if let Ok(mut value) = HeaderValue::from_str(&format!("{scheme} {}", token.reveal())) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        if scheme == "Bearer" {
            headers.insert("x-github-api-version", HeaderValue::from_static("2022-11-28"));
        }
        Http { client, api, headers }
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RemoteError> {
        read(&self.ask(Method::GET, path, None).await?)
    }

    /// The first pages of a list.
    pub async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        size: &str,
        pages: usize,
    ) -> Result<Vec<T>, RemoteError> {
        let mut all = Vec::new();
        let join = if path.contains('?') { '&' } else { '?' };
        for page in 1..=pages {
            let told = self.ask(Method::GET, &format!("{path}{join}{size}={PAGE}&page={page}"), None).await?;
            let more: Vec<T> = read(&told)?;
            let last = more.len() < PAGE;
            all.extend(more);
            if last {
                break;
            }
        }
        Ok(all)
    }

    pub async fn send(&self, method: Method, path: &str, body: &Value) -> Result<Told, RemoteError> {
        self.ask(method, path, Some(body)).await
    }

    /// The token goes to the forge alone: a redirect is followed within it, which is where a repository that was
    /// renamed is found.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Told, RemoteError> {
        let odd = |reason: String| RemoteError::Odd { reason };
        let mut url = Url::parse(&format!("{}{path}", self.api)).map_err(|error| odd(error.to_string()))?;
        for _ in 0..=REDIRECTS_MAX {
            let mut request = self.client.request(method.clone(), url.clone()).headers(self.headers.clone());
            if let Some(body) = body {
                request = request.json(body);
            }
            let answer = request.send().await;
            let answer = answer.map_err(|error| RemoteError::Unreachable { reason: words(error) })?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            if status.is_redirection() {
                let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
                let to = url.join(to).map_err(|error| odd(error.to_string()))?;
                if to.origin() != url.origin() {
                    return Err(odd(format!("it sends us elsewhere, to `{}`", to.host_str().unwrap_or("?"))));
                }
                url = to;
                continue;
            }
            let body = bounded(answer).await?;
            return if status.is_success() {
                Ok(Told { body, headers })
            } else {
                Err(judged(status, &headers, &body, path))
            };
        }
        Err(odd("it sends us round in circles".to_owned()))
    }
}

impl Told {
    /// What the forge's clock said.
    pub fn at(&self) -> Option<Timestamp> {
        let text = self.headers.get(DATE)?.to_str().ok()?;
        jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

pub(super) fn read<T: DeserializeOwned>(told: &Told) -> Result<T, RemoteError> {
    serde_json::from_slice(&told.body).map_err(|error| RemoteError::Odd { reason: error.to_string() })
}

/// One segment of a path.
pub(super) fn segment(text: &str) -> String {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    utf8_percent_encode(text, KEPT).to_string()
}

async fn bounded(mut answer: reqwest::Response) -> Result<Vec<u8>, RemoteError> {
    let mut body = Vec::new();
    loop {
        match answer.chunk().await {
            Ok(Some(piece)) if body.len() + piece.len() <= ANSWER_BYTES_MAX => body.extend_from_slice(&piece),
            Ok(Some(_)) => {
                return Err(RemoteError::Odd {
                    reason: format!("it is longer than {ANSWER_BYTES_MAX} bytes"),
                });
            }
            Ok(None) => return Ok(body),
            Err(error) => return Err(RemoteError::Unreachable { reason: words(error) }),
        }
    }
}

fn judged(status: StatusCode, headers: &HeaderMap, body: &[u8], path: &str) -> RemoteError {
    let (said, status) = (said(body), status.as_u16());
    let number = |name: &str| -> Option<u64> { headers.get(name)?.to_str().ok()?.trim().parse().ok() };
    let spent = number("x-ratelimit-remaining") == Some(0) || said.to_lowercase().contains("rate limit");
    let after = headers.get(RETRY_AFTER).is_some();
    match status {
        429 | 500.. => RemoteError::Busy { status, said, retry_after: later(headers) },
        403 if spent || after => RemoteError::Busy { status, said, retry_after: later(headers) },
        404 => RemoteError::NotFound { what: path.split('?').next().unwrap_or(path).to_owned() },
        405 | 408 | 409 | 423 | 425 => RemoteError::NotNow { status, said },
        _ => RemoteError::Refused { status, said },
    }
}

fn later(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(seconds) = text("retry-after").and_then(|text| text.trim().parse().ok()) {
        return Some(Duration::from_secs(seconds));
    }
    // By the forge's own clock.
    let reset: i64 = text("x-ratelimit-reset")?.trim().parse().ok()?;
    let now = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text("date")?).ok()?;
    u64::try_from(reset - now.as_second()).ok().map(Duration::from_secs)
}

/// What a forge says about a refusal, on one line.
fn said(body: &[u8]) -> String {
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(fields)) => {
            let mut parts = Vec::new();
            for name in ["message", "Message", "error"] {
                parts.extend(fields.get(name).and_then(Value::as_str).map(str::to_owned));
            }
            for error in fields.get("errors").and_then(Value::as_array).into_iter().flatten() {
                let one = error.as_str().or_else(|| error.get("message").and_then(Value::as_str));
                parts.extend(one.map(str::to_owned));
            }
            if parts.is_empty() { Value::Object(fields).to_string() } else { parts.join(": ") }
        }
        _ => String::from_utf8_lossy(body).into_owned(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.chars().take(SAID_CHARS_MAX).collect::<String>() {
        said if said.is_empty() => "without a word".to_owned(),
        said => said,
    }
}

/// An error with what caused it; the address is not in it.
fn words(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    with_causes(&error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_answers_mean() {
        let told = |status: u16, headers: &[(&'static str, &str)], body: &str| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, value.parse().unwrap());
            }
            judged(StatusCode::from_u16(status).unwrap(), &map, body.as_bytes(), "/repos/a/b?x=y")
        };
        let busy = |status: u16, said: &str, seconds: Option<u64>| RemoteError::Busy {
            status,
            said: said.to_owned(),
            retry_after: seconds.map(Duration::from_secs),
        };
        let not_now = |status: u16, said: &str| RemoteError::NotNow { status, said: said.to_owned() };
        for (status, headers, body, expected) in [
            (502, vec![], "<html>bad gateway</html>", busy(502, "<html>bad gateway</html>", None)),
            (429, vec![("retry-after", "7")], "", busy(429, "without a word", Some(7))),
            (
                403,
                vec![
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "1772366460"),
                    ("date", "Sun, 01 Mar 2026 12:00:00 GMT"),
                ],
                r#"{"message":"API rate limit exceeded"}"#,
                busy(403, "API rate limit exceeded", Some(60)),
            ),
            (405, vec![], r#"{"message":"Please try again later"}"#, not_now(405, "Please try again later")),
            (409, vec![], r#"{"message":"head out of date"}"#, not_now(409, "head out of date")),
            (404, vec![], "{}", RemoteError::NotFound { what: "/repos/a/b".to_owned() }),
            (
                422,
                vec![],
                r#"{"message":"Validation Failed","errors":[{"message":"No commits between"}]}"#,
                RemoteError::Refused {
                    status: 422,
                    said: "Validation Failed: No commits between".to_owned(),
                },
            ),
            (401, vec![], "no", RemoteError::Refused { status: 401, said: "no".to_owned() }),
        ] {
            assert_eq!(told(status, &headers, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn a_branch_is_one_segment() {
        assert_eq!(segment("checkrein/job-1/main"), "checkrein%2Fjob-1%2Fmain");
    }
}
