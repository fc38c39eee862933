//! Text of others inside XML and HTML.

use super::layout::safe;

/// As an element's text or an attribute's value; what XML cannot hold is left out.
pub(super) fn escape(text: &str) -> String {
    let text = safe(text, true);
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}
