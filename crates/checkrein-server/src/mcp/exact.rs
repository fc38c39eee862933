//! The library that reads messages rounds numbers and takes the last of two equal keys, and does not answer a
//! message with a value that it cannot hold, such as `1e400`. What it would change is noted in the message before,
//! so that tools refuse it (R2).

use std::borrow::Cow;

use checkrein_core::deliverable::{DeliverableError, check_exact, check_keys};
use rmcp::model::MetaObject;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, DuplexStream};

use crate::error::{Kind, Problem};

/// Where the note stands in the `_meta` of a request: what no tool takes, and what those refuse whose arguments are
/// judged.
const REFUSED: &str = "checkrein/refused";
const INEXACT: &str = "checkrein/inexact";
const HINT: &str = "checkrein/refused-hint";
const BUFFER_BYTES: usize = 64 << 10;

/// A message, with a note where reading it would change it.
pub fn noted(message: &[u8]) -> Cow<'_, [u8]> {
    let text = std::str::from_utf8(message).unwrap_or_default();
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Cow::Borrowed(message);
    }
    let (mut read, name, detail, hint) =
        match (check_keys(text), check_exact(text), serde_json::from_str(text)) {
            (Ok(()), Ok(()), Ok::<Value, _>(_)) => return Cow::Borrowed(message),
            (Err(error), _, Ok(read)) => (read, REFUSED, error.to_string(), error.hint()),
            (Ok(()), Err(error), Ok(read)) => (read, INEXACT, error.to_string(), error.hint()),
            (_, exact, Err(error)) => {
                let Some(read) = without_arguments(text) else { return Cow::Borrowed(message) };
                let hint = exact.as_ref().err().and_then(DeliverableError::hint);
                (
                    read,
                    REFUSED,
                    exact.err().map_or_else(|| unreadable(&error), |error| error.to_string()),
                    hint,
                )
            }
        };
    match &mut read {
        Value::Array(several) => several.iter_mut().for_each(|one| note(one, name, &detail, hint)),
        one => note(one, name, &detail, hint),
    }
    Cow::Owned(format!("{read}\n").into_bytes())
}

fn unreadable(error: &serde_json::Error) -> String {
    format!("the arguments cannot be read: {error}")
}

/// A call whose arguments cannot be read, as far as it can be answered.
fn without_arguments(text: &str) -> Option<Value> {
    #[derive(Deserialize)]
    struct Request {
        id: Value,
        method: String,
        params: Params,
    }
    #[derive(Deserialize)]
    struct Params {
        name: String,
    }
    let Request { id, method, params } = serde_json::from_str(text).ok()?;
    Some(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"name": params.name}}))
}

fn note(message: &mut Value, name: &str, detail: &str, hint: Option<&str>) {
    let Some(params) = message.get_mut("params").and_then(Value::as_object_mut) else { return };
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert(name.to_owned(), detail.into());
        meta.insert(HINT.to_owned(), hint.into());
    }
}

/// Why a call cannot be taken; `judged` says whether its arguments are.
pub fn refusal(meta: &MetaObject, judged: bool) -> Option<Problem> {
    let text = |name: &str| meta.0.get(name).and_then(Value::as_str).map(str::to_owned);
    let detail = text(REFUSED).or_else(|| text(INEXACT).filter(|_| judged))?;
    Some(Problem { hint: text(HINT), ..Problem::new(Kind::Invalid, detail) })
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
        let rounded = "the number `9007199254740993` would come back as another one";
        let twice = "the key `n` is given twice";
        // What a tool says whose arguments are judged, and what others say.
        for (arguments, judged, other) in [
            (r#"{"n": 9007199254740993}"#, Some(rounded), None),
            (r#"{"n": 1, "n": 2}"#, Some(twice), Some(twice)),
            (r#"{"a": 9007199254740993, "b": [{"n": 1, "n": 2}]}"#, Some(twice), Some(twice)),
            (r#"{"n": 9007199254740992}"#, None, None),
        ] {
            let (id, refusals) = refusals(arguments);
            assert_eq!(refusals, [judged, other].map(|text| text.map(str::to_owned)), "{arguments}");
            assert_eq!(id, 7);
        }
        for message in ["", "{", "[]", "no JSON"] {
            assert_eq!(noted(message.as_bytes()), message.as_bytes());
        }
    }

    #[test]
    fn a_call_that_cannot_be_read_still_has_an_answer() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for (arguments, expected) in [
            ("[1e400]", "the number `1e400` would come back as another one"),
            ("-1e999", "the number `-1e999` would come back as another one"),
            (r#""\ud800""#, "the arguments cannot be read: "),
            (&deep, "the arguments cannot be read: recursion limit"),
        ] {
            let (id, refusals) = refusals(&format!(r#"{{"n": {arguments}}}"#));
            for refusal in refusals {
                assert!(refusal.as_ref().is_some_and(|text| text.starts_with(expected)), "{refusal:?}");
            }
            assert_eq!(id, 7);
        }
    }

    fn refusals(arguments: &str) -> (Value, [Option<String>; 2]) {
        let message = format!(
            r#"{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {{"name": "x", "arguments": {arguments}}}}}"#
        );
        let read: Value = serde_json::from_slice(&noted(message.as_bytes())).unwrap();
        assert_eq!((&read["method"], &read["params"]["name"]), (&json!("tools/call"), &json!("x")));
        let meta = MetaObject(read["params"]["_meta"].as_object().cloned().unwrap_or_default());
        let says = |judged: bool| refusal(&meta, judged).map(|problem| problem.detail);
        (read["id"].clone(), [says(true), says(false)])
    }
}
