//! Everything that was asked of a model, kept in a file: each line says what is new since the line before.

use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::llm::{Exchange, redact};

/// A request with its answer, and its number within the attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    pub number: u32,
    #[serde(flatten)]
    pub exchange: Exchange,
}

/// A line: a request whose first messages are those of the one before.
#[derive(Serialize, Deserialize)]
struct Line {
    /// How many messages it has in common with the one before; they are left out.
    shared: usize,
    #[serde(flatten)]
    kept: Kept,
}

/// Writes them.
pub(super) struct Archive {
    path: Option<PathBuf>,
    secrets: Vec<String>,
    number: u32,
    before: Vec<Value>,
}

/// No file of requests is longer; what comes after that is left out.
const BYTES_MAX: u64 = 512 << 20;

impl Archive {
    pub fn begin(path: Option<PathBuf>, secrets: Vec<String>) -> Archive {
        Archive { path, secrets, number: 0, before: Vec::new() }
    }

    pub fn keep(&mut self, mut exchange: Exchange) {
        self.number = self.number.saturating_add(1);
        let Some(path) = &self.path else { return };
        redact(&mut exchange.request, &self.secrets);
        if let Some(answer) = &mut exchange.answer {
            redact(answer, &self.secrets);
        }
        let messages = taken(&mut exchange.request);
        let shared = messages.iter().zip(&self.before).take_while(|(new, old)| new == old).count();
        put(&mut exchange.request, messages.iter().skip(shared).cloned().collect());
        self.before = messages;
        let line = Line { shared, kept: Kept { number: self.number, exchange } };
        let Ok(mut text) = serde_json::to_vec(&line) else { return };
        text.push(b'\n');
        let file = std::fs::File::options().create(true).append(true).mode(0o600).open(path);
        // What cannot be kept does not keep the agent from working.
        let _ = file.and_then(|mut file| match file.metadata() {
            Ok(found) if found.len() > BYTES_MAX => Ok(()),
            _ => file.write_all(&text),
        });
    }
}

/// Reads a file of requests, each whole again. What cannot be read is left out.
pub fn read(path: &Path) -> Vec<Kept> {
    let nofollow = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let mut text = String::new();
    let file = std::fs::File::options().read(true).custom_flags(nofollow).open(path);
    let Ok(file) = file else { return Vec::new() };
    if !file.metadata().is_ok_and(|found| found.is_file())
        || file.take(BYTES_MAX + (64 << 20)).read_to_string(&mut text).is_err()
    {
        return Vec::new();
    }
    let mut before: Vec<Value> = Vec::new();
    let mut kept = Vec::new();
    for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        let mut one = line.kept;
        before.truncate(line.shared);
        before.extend(taken(&mut one.exchange.request));
        put(&mut one.exchange.request, before.clone());
        kept.push(one);
    }
    kept
}

fn taken(request: &mut Value) -> Vec<Value> {
    match request.get_mut("messages").map(Value::take) {
        Some(Value::Array(messages)) => messages,
        _ => Vec::new(),
    }
}

fn put(request: &mut Value, messages: Vec<Value>) {
    if !request.is_object() {
        *request = Value::Object(Map::new());
    }
    if let Some(fields) = request.as_object_mut() {
        fields.insert("messages".to_owned(), messages.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_come_back_whole_and_without_secrets() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("requests.jsonl");
        let exchange = |messages: Value| Exchange {
            started_at: jiff::Timestamp::UNIX_EPOCH,
            duration_ms: 1,
            url: "http://m".to_owned(),
            model: "m".to_owned(),
            attempt: 1,
            status: Some(200),
            request: json!({"model": "m", "messages": messages}),
            answer: Some(json!({"parts": [{"text": "hunter2"}]})),
            error: None,
        };
        let mut archive = Archive::begin(Some(path.clone()), vec!["hunter2".to_owned()]);
        let long = "a".repeat(1000);
        archive.keep(exchange(json!([{"a": long}])));
        archive.keep(exchange(json!([{"a": long}, {"b": "hunter2"}])));
        archive.keep(exchange(json!([{"c": 3}])));
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(&long).count(), 1, "what is known is not written again");
        assert!(!text.contains("hunter2"));
        let kept = read(&path);
        let messages: Vec<&Value> = kept.iter().map(|one| &one.exchange.request["messages"]).collect();
        assert_eq!(
            messages,
            [&json!([{"a": long}]), &json!([{"a": long}, {"b": "***"}]), &json!([{"c": 3}])]
        );
        assert_eq!(kept.iter().map(|one| one.number).collect::<Vec<_>>(), [1, 2, 3]);
    }
}
