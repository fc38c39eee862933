//! Text that others wrote, and how much of it there is.

pub use checkrein_core::shown::count;
use checkrein_core::shown::{harmless, one_line};
use serde_json::Value;

/// Text of an agent or a person, with what does not show made visible.
pub fn shown(text: &str) -> String {
    harmless(text)
}

/// Its beginning, on one line.
pub fn excerpt(text: &str, chars_max: usize) -> String {
    let mut chars = text.trim().chars();
    let mut beginning: String = chars.by_ref().take(chars_max).collect();
    if chars.next().is_some() {
        beginning.push('…');
    }
    one_line(&beginning)
}

/// A value as a person reads it: text as it is, the rest as JSON.
pub fn words_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}
