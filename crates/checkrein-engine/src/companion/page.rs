//! As much of something long as fits into an answer, and where the rest begins.

use serde::Serialize;
use serde_json::Value;

/// So many characters of text are in an answer.
pub(super) const TEXT_CHARS_MAX: usize = 40_000;
pub(super) const LINES: usize = 400;
pub(super) const LINES_MAX: usize = 2_000;

/// Some lines of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lines {
    /// Counted from 1.
    pub first_line: usize,
    pub last_line: usize,
    pub lines_total: usize,
    pub text: String,
    /// Ask again with it as `first_line`; none at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_line: Option<usize>,
}

/// Lines of a text from one on, at most so many, within what an answer may hold.
pub(super) fn lines(text: &str, first: Option<usize>, count: Option<usize>) -> Lines {
    let first = first.unwrap_or(1).max(1);
    let count = count.unwrap_or(LINES).clamp(1, LINES_MAX);
    let lines_total = text.lines().count();
    let (mut part, mut chars, mut taken) = (String::new(), 0, 0);
    for line in text.lines().skip(first - 1).take(count) {
        let length = line.chars().count() + 1;
        if taken > 0 && chars + length > TEXT_CHARS_MAX {
            break;
        }
        part.push_str(&shortened(line, TEXT_CHARS_MAX));
        part.push('\n');
        chars += length;
        taken += 1;
    }
    let last_line = (first - 1 + taken).min(lines_total);
    let next_line = (taken > 0 && last_line < lines_total).then_some(last_line + 1);
    Lines { first_line: first, last_line, lines_total, text: part, next_line }
}

/// A text with what is left out named.
pub(super) fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((at, _)) => {
            format!("{}… ({} characters)", text.get(..at).unwrap_or_default(), text.chars().count())
        }
    }
}

/// Every text in a value shortened.
pub(super) fn shorten(value: &mut Value, chars: usize) {
    match value {
        Value::String(text) => *text = shortened(text, chars),
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, chars)),
        Value::Object(fields) => fields.values_mut().for_each(|field| shorten(field, chars)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_in_parts_that_join() {
        let text: String = (1..=1_000).map(|n| format!("line {n}\n")).collect();
        let (mut whole, mut next) = (String::new(), Some(1));
        let mut parts = 0;
        while let Some(first) = next {
            let part = lines(&text, Some(first), Some(300));
            assert_eq!((part.first_line, part.lines_total), (first, 1_000));
            whole.push_str(&part.text);
            next = part.next_line;
            parts += 1;
        }
        assert_eq!((whole, parts), (text, 4));
    }

    #[test]
    fn parts_end_where_a_text_does() {
        for (text, first, count, expected) in [
            ("", None, None, (1, 0, 0, "", None)),
            ("a\nb", None, None, (1, 2, 2, "a\nb\n", None)),
            ("a\nb", Some(2), None, (2, 2, 2, "b\n", None)),
            ("a\nb", Some(9), None, (9, 2, 2, "", None)),
            ("a\nb", Some(0), Some(1), (1, 1, 2, "a\n", Some(2))),
        ] {
            let part = lines(text, first, count);
            let found =
                (part.first_line, part.last_line, part.lines_total, part.text.as_str(), part.next_line);
            assert_eq!(found, expected, "{text:?} {first:?} {count:?}");
        }
    }

    #[test]
    fn long_lines_are_cut_and_many_of_them_wait() {
        let long = "x".repeat(TEXT_CHARS_MAX + 5);
        let part = lines(&format!("{long}\nb\n"), None, None);
        assert!(part.text.ends_with(&format!("… ({} characters)\n", long.len())), "{}", part.text.len());
        assert_eq!(part.next_line, Some(2));
        let mut value = serde_json::json!({"a": ["12345", 6]});
        shorten(&mut value, 3);
        assert_eq!(value, serde_json::json!({"a": ["123… (5 characters)", 6]}));
    }
}
