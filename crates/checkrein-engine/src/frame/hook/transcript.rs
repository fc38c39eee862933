//! Claude Code's own transcript: lines of JSON, from which tokens and messages are counted. Its hooks say
//! neither.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

use crate::agent_dir::open_followed;

use super::{Transcript, Usage, number, text};

/// What is new in a transcript.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub to: Transcript,
    pub usage: Usage,
    /// Answers of the model that are new.
    pub messages: u64,
    /// What was said, where it is to be kept.
    pub texts: Vec<String>,
}

/// So much is read at a time; what is beyond is skipped, so that no event takes long.
const BYTES_MAX: u64 = 4 << 20;
/// What the models of this client can hold, unless they say more.
const LIMIT: u64 = 200_000;
const LONG_LIMIT: u64 = 1_000_000;

/// Reads on from where it was left. A transcript that cannot be read says nothing.
pub(super) fn read(path: &str, from: &Transcript, keep: bool) -> Found {
    let mut read = Found { to: from.clone(), ..Found::default() };
    let Some((bytes, offset)) = part(path, from.offset) else { return read };
    let mut rest = bytes.as_slice();
    let mut at = offset;
    // Only whole lines count; the last one may still be written.
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = rest.split_at(end + 1);
        at += line.len() as u64;
        rest = after;
        if let Ok(line) = serde_json::from_slice::<Value>(line) {
            count(&line, &mut read, keep);
        }
    }
    read.to.offset = at;
    read
}

fn part(path: &str, offset: u64) -> Option<(Vec<u8>, u64)> {
    let mut file = open_followed(Path::new(path)).ok()?;
    let length = file.metadata().ok()?.len();
    // A shorter one is another one.
    let offset = if offset > length { 0 } else { offset };
    let offset = offset.max(length.saturating_sub(BYTES_MAX));
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some((bytes, offset))
}

fn count(line: &Value, read: &mut Found, keep: bool) {
    if keep && let Some(said) = spoken(line) {
        read.texts.push(said);
    }
    if line.get("type").and_then(Value::as_str) != Some("assistant") {
        return;
    }
    // A message is written block by block, each with the usage of the whole.
    let id = text(line, &["message", "id"]);
    let sidechain = line.get("isSidechain").and_then(Value::as_bool).unwrap_or(false);
    let of = |key: &str| number(line, &["message", "usage", key]);
    let (new, cached) =
        (of("input_tokens") + of("cache_creation_input_tokens"), of("cache_read_input_tokens"));
    let written = of("output_tokens");
    if id.is_none() || id != read.to.message {
        read.messages += 1;
        read.usage.spent += new + written;
        read.to.message = id;
    }
    if !sidechain && new + cached + written > 0 {
        read.usage.context = new + cached + written;
        let model = text(line, &["message", "model"]).unwrap_or_default();
        read.usage.limit = if model.contains("[1m]") { LONG_LIMIT } else { LIMIT };
    }
}

/// A message as it is kept in a log.
fn spoken(line: &Value) -> Option<String> {
    let role = text(line, &["message", "role"])?;
    let content = line.get("message")?.get("content")?;
    let words = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let block = |block: &Value| match block.get("type").and_then(Value::as_str) {
                Some("text") => text(block, &["text"]),
                Some("tool_use") => Some(format!(
                    "[{} {}]",
                    text(block, &["name"])?,
                    block.get("input").cloned().unwrap_or_default()
                )),
                Some("tool_result") => Some(format!("[result] {}", result(block.get("content")?))),
                _ => None,
            };
            blocks.iter().filter_map(block).collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    (!words.trim().is_empty()).then(|| format!("{role}: {words}"))
}

fn result(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| text(part, &["text"])).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, input: u64, cached: u64, output: u64) -> String {
        serde_json::json!({"type": "assistant", "message": {"id": id, "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": format!("said {id}")}],
            "usage": {"input_tokens": input, "cache_read_input_tokens": cached, "output_tokens": output}}})
        .to_string()
            + "\n"
    }

    #[test]
    fn tokens_and_messages_are_counted_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.jsonl");
        let name = path.to_str().unwrap();
        let mut text = format!("{}{}not json\n", line("a", 100, 0, 10), line("a", 100, 0, 10));
        std::fs::write(&path, &text).unwrap();
        let first = read(name, &Transcript::default(), false);
        assert_eq!((first.messages, first.usage.spent, first.usage.context), (1, 110, 110));
        let again = read(name, &first.to, false);
        assert_eq!((again.messages, again.usage), (0, Usage::default()));
        // The same message goes on, another one comes, and one is not whole yet.
        text.push_str(&line("a", 100, 0, 10));
        text.push_str(&line("b", 5, 110, 20));
        text.push_str("{\"type\": \"assis");
        std::fs::write(&path, &text).unwrap();
        let more = read(name, &first.to, true);
        assert_eq!(
            (more.messages, more.usage.spent, more.usage.context, more.usage.limit),
            (1, 25, 135, LIMIT)
        );
        assert_eq!(more.texts, ["assistant: said a", "assistant: said b"]);
        assert_eq!(read("/none/at/all", &more.to, false).to, more.to);
    }
}
