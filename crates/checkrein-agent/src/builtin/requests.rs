//! Everything that was asked of a model, kept in a file: each line says what is new since the line before.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::llm::{Exchange, redact};
use crate::regular::WITHOUT_WAITING;

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
/// Nor is a line.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Requests are made whole up to so much together; what comes after that is left out.
const WHOLE_BYTES_MAX: usize = 1 << 30;

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
        let mut options = std::fs::File::options();
        let file = options.create(true).append(true).mode(0o600).custom_flags(WITHOUT_WAITING).open(path);
        // What cannot be kept does not keep the agent from working.
        let _ = file.and_then(|mut file| match file.metadata() {
            Ok(found) if found.len() > BYTES_MAX => Ok(()),
            _ => file.write_all(&text),
        });
    }
}

/// The lines of a file of requests, as far as they can be some.
pub fn lines(file: impl Read) -> impl Iterator<Item = Vec<u8>> {
    let mut reader = BufReader::new(file.take(BYTES_MAX + LINE_BYTES_MAX));
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        let read = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).ok()?;
        (read > 0 && (read as u64) < LINE_BYTES_MAX).then_some(line)
    })
}

/// Reads a file of requests, each whole again. What cannot be read is left out.
pub fn read(file: impl Read) -> Vec<Kept> {
    read_within(file, WHOLE_BYTES_MAX)
}

fn read_within(file: impl Read, bytes_max: usize) -> Vec<Kept> {
    // Messages with their lengths: a short line can stand for a long request.
    let mut before: Vec<(usize, Value)> = Vec::new();
    let (mut kept, mut whole_bytes) = (Vec::new(), 0_usize);
    for line in lines(file) {
        let Ok(Line { shared, kept: mut one }) = serde_json::from_slice(&line) else { continue };
        before.truncate(shared);
        let new = taken(&mut one.exchange.request);
        before.extend(new.into_iter().map(|message| (message.to_string().len(), message)));
        whole_bytes = before.iter().fold(whole_bytes, |sum, (length, _)| sum.saturating_add(*length));
        if whole_bytes > bytes_max {
            break;
        }
        put(&mut one.exchange.request, before.iter().map(|(_, message)| message.clone()).collect());
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
        let kept = read(std::fs::File::open(&path).unwrap());
        let messages: Vec<&Value> = kept.iter().map(|one| &one.exchange.request["messages"]).collect();
        assert_eq!(
            messages,
            [&json!([{"a": long}]), &json!([{"a": long}, {"b": "***"}]), &json!([{"c": 3}])]
        );
        assert_eq!(kept.iter().map(|one| one.number).collect::<Vec<_>>(), [1, 2, 3]);

        // A short line can stand for a long request: those that would be too much are left out.
        let (_, once) = text.split_once('\n').unwrap();
        let once = once.lines().next().unwrap();
        let many = format!("{}\n{}", text.lines().next().unwrap(), format!("{once}\n").repeat(1000));
        let whole = read_within(many.as_bytes(), 10_000);
        assert!((5..10).contains(&whole.len()), "{}", whole.len());
    }

    #[test]
    fn a_file_that_never_ends_a_line_is_not_read_to_its_end() {
        struct Zeros(u64);
        impl Read for Zeros {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                buffer.fill(0);
                self.0 += buffer.len() as u64;
                Ok(buffer.len())
            }
        }
        let mut zeros = Zeros(0);
        assert_eq!(lines(&mut zeros).count(), 0);
        assert!(zeros.0 < LINE_BYTES_MAX * 2, "{}", zeros.0);
    }
}
