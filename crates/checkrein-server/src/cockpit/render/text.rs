//! Text in a page.

use checkrein_core::shown::characters;

/// Appends text as text. What does not show, or changes how the rest shows, is shown by its number.
pub fn push(out: &mut String, text: &str) {
    let mut plain = 0;
    for (at, c, hidden) in characters(text) {
        let entity = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\t' | '\n' => continue,
            _ if hidden => "",
            _ => continue,
        };
        out.push_str(text.get(plain..at).unwrap_or_default());
        match entity {
            "" => out.push_str(&format!("<span class=\"odd\">U+{:04X}</span>", u32::from(c))),
            entity => out.push_str(entity),
        }
        plain = at.saturating_add(c.len_utf8());
    }
    out.push_str(text.get(plain..).unwrap_or_default());
}

/// Appends text between the quotes of an attribute, where no tag can stand.
pub fn push_attribute(out: &mut String, text: &str) {
    for (_, c, hidden) in characters(text) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if hidden => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
}

/// An address that may stand in a link: of the web or of mail, and nothing that runs.
pub fn is_safe_address(address: &str) -> bool {
    let lower = address.trim().to_ascii_lowercase();
    ["https://", "http://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme))
        && !address.chars().any(|c| c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_text() {
        for (text, expected) in [
            ("plain", "plain"),
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\" onload='x' &", "&quot; onload='x' &amp;"),
            ("a\tb", "a\tb"),
            ("\u{202e}evil", "<span class=\"odd\">U+202E</span>evil"),
            ("\u{1b}[31m", "<span class=\"odd\">U+001B</span>[31m"),
            ("größe 漢", "größe 漢"),
            ("a\u{ad}b\u{e0041}", "a<span class=\"odd\">U+00AD</span>b<span class=\"odd\">U+E0041</span>"),
            ("\u{1f469}\u{200d}\u{1f4bb} \u{2764}\u{fe0f}", "\u{1f469}\u{200d}\u{1f4bb} \u{2764}\u{fe0f}"),
        ] {
            let mut out = String::new();
            push(&mut out, text);
            assert_eq!(out, expected, "{text:?}");
        }
        let mut out = String::new();
        push_attribute(&mut out, "\"><img src=x onerror=alert(1)>\u{202e}");
        assert_eq!(out, "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;\\u{202e}");
    }

    #[test]
    fn addresses_that_run_are_no_links() {
        for address in ["https://a.example/x?y=1", "HTTP://a.example", "mailto:a@b.example"] {
            assert!(is_safe_address(address), "{address}");
        }
        for address in [
            "javascript:alert(1)",
            " JaVaScRiPt:alert(1)",
            "java\nscript:alert(1)",
            "data:text/html,<script>",
            "vbscript:x",
            "file:///etc/passwd",
            "//evil.example",
            "/runs/x",
            "https://a.example/ onclick=x",
            "",
        ] {
            assert!(!is_safe_address(address), "{address}");
        }
    }
}
