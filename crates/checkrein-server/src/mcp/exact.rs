//! The library that reads messages rounds numbers and takes the last of two equal keys. What it would change is
//! noted in the message before, so that a tool whose arguments are judged refuses them (R2).

use std::borrow::Cow;

use checkrein_core::deliverable::{DeliverableError, check_exact};
use rmcp::model::MetaObject;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, DuplexStream};

use crate::error::{Kind, Problem};

/// Where the note stands in the `_meta` of a request.
const NOTE: &str = "checkrein/inexact";
const HINT: &str = "checkrein/inexact-hint";
const BUFFER_BYTES: usize = 64 << 10;

/// A message, with a note where reading it would change it.
pub fn noted(message: &[u8]) -> Cow<'_, [u8]> {
    let text = std::str::from_utf8(message).unwrap_or_default();
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Cow::Borrowed(message);
    }
    let (Err(error), Ok(mut read)) = (check_exact(text), serde_json::from_str::<Value>(text)) else {
        return Cow::Borrowed(message);
    };
    match &mut read {
        Value::Array(several) => several.iter_mut().for_each(|one| note(one, &error)),
        one => note(one, &error),
    }
    Cow::Owned(format!("{read}\n").into_bytes())
}

fn note(message: &mut Value, error: &DeliverableError) {
    let Some(params) = message.get_mut("params").and_then(Value::as_object_mut) else { return };
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert(NOTE.to_owned(), error.to_string().into());
        meta.insert(HINT.to_owned(), error.hint().into());
    }
}

/// Why arguments that are judged cannot be taken.
pub fn refusal(meta: &MetaObject) -> Option<Problem> {
    let text = |name: &str| meta.0.get(name).and_then(Value::as_str).map(str::to_owned);
    let problem = Problem::new(Kind::Invalid, text(NOTE)?);
    Some(Problem { hint: text(HINT), ..problem })
}

/// The messages of a stream, one on each line, with their notes.
pub fn noting<R: AsyncRead + Send + Unpin + 'static>(input: R) -> DuplexStream {
    let (mut noted_lines, read) = tokio::io::duplex(BUFFER_BYTES);
    tokio::spawn(async move {
        let mut lines = BufReader::new(input);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).await.is_ok_and(|length| length > 0) {
            if noted_lines.write_all(&noted(&line)).await.is_err() {
                break;
            }
            line.clear();
        }
    });
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_would_change_is_noted() {
        for (arguments, expected) in [
            (
                r#"{"n": 9007199254740993}"#,
                Some("the number `9007199254740993` would come back as another one"),
            ),
            (
                r#"{"n": 12345678901234567890123}"#,
                Some("the number `12345678901234567890123` would come back as another one"),
            ),
            (r#"{"n": 1, "n": 2}"#, Some("the key `n` is given twice")),
            (r#"{"n": 9007199254740992}"#, None),
        ] {
            let message = format!(
                r#"{{"jsonrpc": "2.0", "method": "tools/call", "params": {{"arguments": {arguments}}}}}"#
            );
            let read: Value = serde_json::from_slice(&noted(message.as_bytes())).unwrap();
            let meta = read["params"]["_meta"].as_object().cloned().unwrap_or_default();
            let refused = refusal(&MetaObject(meta)).map(|problem| problem.detail);
            assert_eq!(refused.as_deref(), expected, "{arguments}");
        }
        for message in ["", "{", "[]", "no JSON"] {
            assert_eq!(noted(message.as_bytes()), message.as_bytes());
        }
    }
}
