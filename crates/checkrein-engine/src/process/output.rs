//! Looks at the end of what an attempt printed.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::agent_dir::open_regular;

/// A line that is longer is not looked at.
const TAIL_BYTES: u64 = 1 << 20;

/// The last line that is not blank. What is no text in it shows as `\u{fffd}`.
pub fn last_line(path: &Path) -> Option<String> {
    let (from, tail) = tail(path)?;
    let mut lines = tail.rsplit(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let whole = from == 0 || lines.peek().is_some();
        if !line.trim_ascii().is_empty() {
            return whole.then(|| String::from_utf8_lossy(line.trim_ascii()).into_owned());
        }
    }
    None
}

/// The last line that is not blank; where it says nothing by itself (`params:`), the lines before it as well.
pub fn last_words(path: &Path) -> Option<String> {
    let line = last_line(path)?;
    if !line.ends_with(':') && line.split_whitespace().count() > 1 {
        return Some(line);
    }
    let (_, tail) = tail(path)?;
    let text = String::from_utf8_lossy(&tail);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Some(lines.get(lines.len().saturating_sub(LINES_MAX)..)?.join("\n"))
}

/// So many lines are shown where the last one does not say enough.
const LINES_MAX: usize = 6;

/// Whether the last line that is not blank ends like an object, but is too long for all of it to be here.
pub fn ends_in_a_long_object(path: &Path, truncated: bool) -> bool {
    let Some((from, tail)) = tail(path) else { return false };
    let text = tail.trim_ascii_end();
    let line = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let cut = truncated || line.len() == text.len() && from > 0;
    cut && line.ends_with(b"}") && serde_json::from_slice::<serde_json::Value>(line).is_err()
}

/// The last line that is not blank, if it is a JSON object.
pub fn last_object(path: &Path) -> Option<String> {
    let line = last_line(path)?;
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&line).ok()?;
    Some(line)
}

/// The end of a file, and where it begins.
fn tail(path: &Path) -> Option<(u64, Vec<u8>)> {
    let mut file = open_regular(path).ok()?;
    let from = file.metadata().ok()?.len().saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
    Some((from, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(text: &[u8]) -> (Option<String>, Option<String>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stdout");
        std::fs::write(&path, text).unwrap();
        (last_line(&path), last_object(&path))
    }

    #[test]
    fn the_last_line_is_found() {
        for (text, line, object) in [
            (&b""[..], None, None),
            (b"\n \n", None, None),
            (b"one", Some("one"), None),
            (b"one\ntwo\n\n  \r\n", Some("two"), None),
            (b"one\n{\"a\": 1}\r\n", Some("{\"a\": 1}"), Some("{\"a\": 1}")),
            (b"{\"a\": 1}\nbye\n", Some("bye"), None),
            (b"[1]\n", Some("[1]"), None),
            (b"{\"a\": 1} {\"a\": 1}\n", Some("{\"a\": 1} {\"a\": 1}"), None),
            (b"{\"a\": \"\xff\"}\n", Some("{\"a\": \"\u{fffd}\"}"), Some("{\"a\": \"\u{fffd}\"}")),
        ] {
            let expected = (line.map(str::to_owned), object.map(str::to_owned));
            assert_eq!(last(text), expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn a_last_line_that_says_nothing_is_shown_with_those_before_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stderr");
        for (text, expected) in [
            ("Failed query: insert into session\n\nparams:\n", "Failed query: insert into session\nparams:"),
            ("a\nb\nc\nd\ne\nf\n}\n", "b\nc\nd\ne\nf\n}"),
            ("beside\ndatabase is locked\n", "database is locked"),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(last_words(&path).as_deref(), Some(expected));
        }
        assert_eq!(last_words(Path::new("/nowhere")), None);
    }

    #[test]
    fn only_the_end_of_a_long_output_is_read() {
        let long = vec![b'x'; 3 << 20];
        assert_eq!(last(&long).0, None);
        assert_eq!(last(&[&long, &b"\nend\n"[..]].concat()).0.as_deref(), Some("end"));
        assert_eq!(last(&long[..1 << 20]).0.map(|line| line.len()), Some(1 << 20));
    }

    #[test]
    fn a_file_that_is_not_there_has_no_last_line() {
        assert_eq!(last_line(Path::new("/nowhere")), None);
    }
}
