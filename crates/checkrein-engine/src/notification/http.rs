//! Sends a body by HTTP: without redirects and proxies, to addresses that were looked at, for a bounded time.

use std::sync::OnceLock;
use std::time::Duration;

use checkrein_core::shown::with_causes;
use jiff::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, StatusCode};
use url::Url;

use super::{Outcome, TIME_MAX};
use crate::reach::Reach;

/// One client for each reach, made when first needed.
#[derive(Debug, Default)]
pub(super) struct Clients {
    public: OnceLock<Client>,
    anywhere: OnceLock<Client>,
    near: OnceLock<Client>,
}

/// So much of an answer is read, and thrown away, to use the connection again.
const ANSWER_BYTES_MAX: usize = 16 << 10;

impl Clients {
    pub async fn post(
        &self,
        (url, reach): (Url, Reach),
        headers: &[(&'static str, String)],
        body: String,
        now: Timestamp,
    ) -> Outcome {
        let client = match self.of(reach) {
            Ok(client) => client,
            Err(error) => return Outcome::failed(format!("no client: {}", words(&error))),
        };
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            if let Ok(value) = HeaderValue::from_str(value) {
                sent.insert(HeaderName::from_static(name), value);
            }
        }
        match client.post(url).headers(sent).body(body).send().await {
            Err(error) => Outcome::failed(words(&error.without_url())),
            Ok(mut answer) => {
                let outcome = judged(answer.status(), answer.headers(), now);
                let mut read = 0;
                while let Ok(Some(piece)) = answer.chunk().await {
                    read += piece.len();
                    if read > ANSWER_BYTES_MAX {
                        break;
                    }
                }
                outcome
            }
        }
    }

    fn of(&self, reach: Reach) -> Result<&Client, reqwest::Error> {
        let place = match reach {
            Reach::Public => &self.public,
            Reach::Anywhere => &self.anywhere,
            Reach::Near => &self.near,
        };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let client = reach.client(TIME_MAX)?;
        Ok(place.get_or_init(|| client))
    }
}

fn judged(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Outcome {
    let answer = format!("answered {}", status.as_u16());
    if status.is_success() {
        return Outcome::Arrived { answer };
    }
    if status == StatusCode::GONE {
        return Outcome::Gone { answer };
    }
    let answer = if status.is_redirection() { format!("{answer}, which is not followed") } else { answer };
    let retry_after = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    Outcome::Failed { answer, retry_after: retry_after.and_then(|text| later(text, now)) }
}

/// Seconds, or a date.
fn later(text: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
    date.duration_since(now).try_into().ok()
}

/// An error with what caused it; the address is not in it.
fn words(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    with_causes(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_answers_are_judged() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        for (status, after, expected) in [
            (200, "", "Arrived"),
            (204, "", "Arrived"),
            (299, "", "Arrived"),
            (301, "", "Failed None"),
            (400, "", "Failed None"),
            (410, "", "Gone"),
            (429, "120", "Failed Some(120s)"),
            (503, "Sun, 01 Mar 2026 12:05:00 GMT", "Failed Some(300s)"),
            (503, "Sun, 01 Mar 2026 11:00:00 GMT", "Failed None"),
            (503, "-5", "Failed None"),
            (500, "soon", "Failed None"),
        ] {
            let mut headers = HeaderMap::new();
            if !after.is_empty() {
                headers.insert(RETRY_AFTER, after.parse().unwrap());
            }
            let actual = match judged(StatusCode::from_u16(status).unwrap(), &headers, now) {
                Outcome::Arrived { .. } => "Arrived".to_owned(),
                Outcome::Gone { .. } => "Gone".to_owned(),
                Outcome::Failed { retry_after, .. } => format!("Failed {retry_after:?}"),
            };
            assert_eq!(actual, expected, "{status} {after}");
        }
    }
}
