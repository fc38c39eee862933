//! Text that others wrote, and how much of it there is.

pub use checkrein_core::shown::count;
use checkrein_core::shown::{harmless, one_line};
use maud::{Markup, html};
use serde_json::Value;

/// Text of an agent or a person, with what does not show made visible.
pub fn shown(text: &str) -> String {
    harmless(text)
}

/// A sentence of ours, in which values stand between backticks.
pub fn sentence(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // What opens and is not closed is no value.
    if parts.len().is_multiple_of(2) {
        return html! { (shown(text)) };
    }
    html! {
        @for (index, part) in parts.into_iter().enumerate() {
            @if index % 2 == 1 { code { (shown(part)) } } @else { (shown(part)) }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_sentence_are_told_apart() {
        for (text, expected) in [
            ("plain", "plain"),
            ("Checkpoint `final_output` waits", "Checkpoint <code>final_output</code> waits"),
            ("`a` and `b`", "<code>a</code> and <code>b</code>"),
            ("one ` alone", "one ` alone"),
            ("`<img src=x>`", "<code>&lt;img src=x&gt;</code>"),
        ] {
            assert_eq!(sentence(text).into_string(), expected, "{text}");
        }
    }
}
