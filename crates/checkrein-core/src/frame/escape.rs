//! Text from outside, made safe for where it is shown.
//!
//! Goals and summaries are written by agents and people, and end up in front of an agent again. They
//! must stay data: no goal may end its own line, quote or element.

use crate::shown::characters;

/// For text and attributes of XML. Characters that XML cannot carry, or that a terminal would obey,
/// become U+FFFD; so the result is never shorter than the input.
pub(super) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    text.chars().for_each(|c| push_xml(&mut escaped, c));
    escaped
}

/// As [`xml`], but at most `room` bytes: what does not fit is cut and marked with an ellipsis.
pub(super) fn xml_within(text: &str, room: usize) -> String {
    let mut escaped = String::new();
    // Where the cut goes if a later character turns out not to fit.
    let mut cut = 0;
    for c in text.chars() {
        push_xml(&mut escaped, c);
        if escaped.len() > room {
            escaped.truncate(cut);
            if room >= ELLIPSIS.len() {
                escaped.push_str(ELLIPSIS);
            }
            return escaped;
        }
        if escaped.len() + ELLIPSIS.len() <= room {
            cut = escaped.len();
        }
    }
    escaped
}

const ELLIPSIS: &str = "…";

fn push_xml(out: &mut String, c: char) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&apos;"),
        '\n' | '\t' => out.push(c),
        '\r' => out.push_str("&#13;"),
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
        _ => out.push(c),
    }
}

/// A JSON string, with its quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", line(text))
}

/// The inside of a JSON string, on one line. Invisible characters that could break or reorder the line
/// are written as escapes too.
pub(super) fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for (_, c, hidden) in characters(text) {
        match c {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            c if hidden => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    line.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn xml_escapes_what_could_end_an_element_or_attribute() {
        for (text, expected) in [
            ("plain é 认", "plain é 认"),
            ("</goal><x a=\"b\">", "&lt;/goal&gt;&lt;x a=&quot;b&quot;&gt;"),
            ("a & b's", "a &amp; b&apos;s"),
            ("a\n\tb\r", "a\n\tb&#13;"),
            ("\0\x1b\u{9b}\u{ffff}", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(xml(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_cut_keeps_entities_and_characters_whole() {
        for (text, room, expected) in [
            ("abcdef", 6, "abcdef"),
            ("abcdef", 5, "ab…"),
            ("abcdef", 3, "…"),
            ("abcdef", 2, ""),
            ("a<b", 6, "a&lt;b"),
            ("a<bc", 6, "a…"),
            ("a<bcd", 8, "a&lt;bcd"),
            ("a<bcde", 8, "a&lt;…"),
            ("éééé", 7, "éé…"),
            ("éééé", 6, "é…"),
            ("", 0, ""),
        ] {
            assert_eq!(xml_within(text, room), expected, "{text:?} in {room}");
        }
    }

    #[test]
    fn a_quoted_text_stays_in_its_quotes_and_line() {
        for (text, expected) in [
            ("Fix login", r#""Fix login""#),
            ("say \"hi\"", r#""say \"hi\"""#),
            ("a\\", r#""a\\""#),
            ("a\nb\r\tc", r#""a\nb\r\tc""#),
            ("a\u{85}b\u{2028}c\u{202e}d", r#""a\u0085b\u2028c\u202ed""#),
            ("a\u{ad}b\u{e0041}", r#""a\u00adb\udb40\udc41""#),
        ] {
            assert_eq!(quoted(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn quoting_loses_nothing(text: String) {
            prop_assert_eq!(serde_json::from_str::<String>(&quoted(&text)).unwrap(), text);
        }

        #[test]
        fn a_cut_fits(text: String, room in 0..40usize) {
            let cut = xml_within(&text, room);
            prop_assert!(cut.len() <= room);
            prop_assert_eq!(cut == xml(&text), xml(&text).len() <= room);
        }
    }
}
