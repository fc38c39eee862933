//! Text that others wrote, as it is shown to a person: it says what it says and does nothing else.

use std::error::Error;

use crate::checkpoint::is_invisible;

/// Text of an agent or a file, unable to command the terminal; it keeps its lines.
pub fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let commands = c != '\n' && is_invisible(c);
        if commands { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// The same on one line.
pub fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(harmless).collect::<Vec<_>>().join(" ")
}

/// An error with everything that caused it.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// `1 file`, `2 files`.
pub fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
