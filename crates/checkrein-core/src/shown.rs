//! Text that others wrote, as it is shown to a person: it says what it says and does nothing else.

use std::error::Error;

/// Text of an agent or a file, unable to command the terminal; it keeps its lines.
pub fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (_, c, hidden) in characters(text) {
        if hidden && c != '\n' { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// The same on one line.
pub fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(harmless).collect::<Vec<_>>().join(" ")
}

/// Whether something in a text does not show: a name with that is a disguise.
pub fn hides_something(text: &str) -> bool {
    characters(text).any(|(_, _, hidden)| hidden)
}

/// Every character with its place, and whether it does not show there. What holds an emoji together shows as
/// that emoji.
pub fn characters(text: &str) -> impl Iterator<Item = (usize, char, bool)> {
    let mut emoji_end = 0;
    text.char_indices().map(move |(at, c)| {
        if at >= emoji_end {
            emoji_end = at + text.get(at..).map_or(0, emoji_length);
        }
        (at, c, at >= emoji_end && is_invisible(c))
    })
}

/// Characters that do not show by themselves, or change how others do.
fn is_invisible(c: char) -> bool {
    c.is_control()
        // Those that are no characters at all.
        || u32::from(c) & 0xfffe == 0xfffe
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{2d7f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffc}' | '\u{1107f}' | '\u{13430}'..='\u{1343f}' | '\u{13441}'..='\u{13442}'
            | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

const JOINER: char = '\u{200d}';
/// England, Scotland and Wales: the flags made of tag characters that fonts have.
const TAG_FLAGS: [&str; 3] = [
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// How many bytes at the beginning are one emoji; 0 where none begins.
pub(crate) fn emoji_length(text: &str) -> usize {
    // A family has four.
    const JOINED_MAX: usize = 8;
    let Some(mut rest) = after_pictograph(text) else { return 0 };
    for _ in 1..JOINED_MAX {
        let Some(next) = rest.strip_prefix(JOINER).and_then(after_pictograph) else { break };
        rest = next;
    }
    text.len() - rest.len()
}

/// What follows one pictograph and how it is to look: as text or in colours, with which skin, on a key.
fn after_pictograph(text: &str) -> Option<&str> {
    if let Some(key) = text.strip_prefix(|c: char| c.is_ascii_digit() || matches!(c, '#' | '*')) {
        return key.strip_prefix("\u{fe0f}\u{20e3}");
    }
    let rest = text.strip_prefix(is_pictograph)?;
    if let Some(rest) = TAG_FLAGS.iter().find_map(|flag| text.strip_prefix(flag)) {
        return Some(rest);
    }
    let rest = rest.strip_prefix(['\u{fe0e}', '\u{fe0f}']).unwrap_or(rest);
    Some(rest.strip_prefix(|c| matches!(c, '\u{1f3fb}'..='\u{1f3ff}')).unwrap_or(rest))
}

/// The characters emoji are made of (Unicode's `Extended_Pictographic`).
fn is_pictograph(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{2199}'
        | '\u{21a9}'..='\u{21aa}' | '\u{231a}'..='\u{231b}' | '\u{2328}' | '\u{2388}' | '\u{23cf}'
        | '\u{23e9}'..='\u{23f3}' | '\u{23f8}'..='\u{23fa}' | '\u{24c2}' | '\u{25aa}'..='\u{25ab}' | '\u{25b6}'
        | '\u{25c0}' | '\u{25fb}'..='\u{25fe}' | '\u{2600}'..='\u{2605}' | '\u{2607}'..='\u{2612}'
        | '\u{2614}'..='\u{2685}' | '\u{2690}'..='\u{2705}' | '\u{2708}'..='\u{2712}' | '\u{2714}' | '\u{2716}'
        | '\u{271d}' | '\u{2721}' | '\u{2728}' | '\u{2733}'..='\u{2734}' | '\u{2744}' | '\u{2747}' | '\u{274c}'
        | '\u{274e}' | '\u{2753}'..='\u{2755}' | '\u{2757}' | '\u{2763}'..='\u{2767}' | '\u{2795}'..='\u{2797}'
        | '\u{27a1}' | '\u{27b0}' | '\u{27bf}' | '\u{2934}'..='\u{2935}' | '\u{2b05}'..='\u{2b07}'
        | '\u{2b1b}'..='\u{2b1c}' | '\u{2b50}' | '\u{2b55}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1f0ff}' | '\u{1f10d}'..='\u{1f10f}' | '\u{1f12f}' | '\u{1f16c}'..='\u{1f171}'
        | '\u{1f17e}'..='\u{1f17f}' | '\u{1f18e}' | '\u{1f191}'..='\u{1f19a}' | '\u{1f1ad}'..='\u{1f1e5}'
        | '\u{1f201}'..='\u{1f20f}' | '\u{1f21a}' | '\u{1f22f}' | '\u{1f232}'..='\u{1f23a}'
        | '\u{1f23c}'..='\u{1f23f}' | '\u{1f249}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1f53d}'
        | '\u{1f546}'..='\u{1f64f}' | '\u{1f680}'..='\u{1f6ff}' | '\u{1f774}'..='\u{1f77f}'
        | '\u{1f7d5}'..='\u{1f7ff}' | '\u{1f80c}'..='\u{1f80f}' | '\u{1f848}'..='\u{1f84f}'
        | '\u{1f85a}'..='\u{1f85f}' | '\u{1f888}'..='\u{1f88f}' | '\u{1f8ae}'..='\u{1f8ff}'
        | '\u{1f90c}'..='\u{1f93a}' | '\u{1f93c}'..='\u{1f945}' | '\u{1f947}'..='\u{1faff}'
        | '\u{1fc00}'..='\u{1fffd}')
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_show_is_shown_by_its_number() {
        for c in [
            '\u{0}',
            '\u{1b}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{2800}',
            '\u{2d7f}',
            '\u{fdd0}',
            '\u{fffc}',
            '\u{fffe}',
            '\u{1107f}',
            '\u{13441}',
            '\u{16fe4}',
            '\u{1d159}',
            '\u{1ffff}',
            '\u{17b4}',
            '\u{17b5}',
            '\u{180b}',
            '\u{180e}',
            '\u{180f}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{202e}',
            '\u{2060}',
            '\u{2061}',
            '\u{2064}',
            '\u{2066}',
            '\u{206f}',
            '\u{3164}',
            '\u{fe00}',
            '\u{fe0e}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{13430}',
            '\u{1bca0}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e007f}',
            '\u{e0100}',
            '\u{e01ef}',
        ] {
            let (text, number) = (format!("a{c}b 漢{c}"), c.escape_unicode());
            assert_eq!(harmless(&text), format!("a{number}b 漢{number}"));
            assert!(hides_something(&text), "{number}");
        }
    }

    #[test]
    fn emoji_stay_whole() {
        for text in [
            "plain ü 漢 Ω — 1 # *",
            "\u{2764}\u{fe0f} \u{2764}\u{fe0e} \u{a9}\u{fe0f}",
            "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
            "\u{1f469}\u{200d}\u{1f4bb}",
            "\u{1f469}\u{1f3fd}\u{200d}\u{1f4bb}",
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466}",
            "\u{1f3c3}\u{1f3fb}\u{200d}\u{2642}\u{fe0f}\u{200d}\u{27a1}\u{fe0f}",
            "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308} \u{1f1e9}\u{1f1ea}",
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
        ] {
            assert_eq!(harmless(text), text);
            assert!(!hides_something(text), "{text}");
        }
    }

    #[test]
    fn what_an_emoji_does_not_need_is_shown() {
        for (text, expected) in [
            // A message in the tags of a flag that no font has.
            ("\u{1f3f4}\u{e0068}\u{e0069}\u{e007f}", "\u{1f3f4}\\u{e0068}\\u{e0069}\\u{e007f}"),
            ("\u{1f600}\u{e0041}", "\u{1f600}\\u{e0041}"),
            ("\u{1f600}\u{fe0f}\u{fe0f}", "\u{1f600}\u{fe0f}\\u{fe0f}"),
            ("\u{1f600}\u{fe01}", "\u{1f600}\\u{fe01}"),
            ("\u{1f600}\u{200d}", "\u{1f600}\\u{200d}"),
            ("\u{1f600}\u{200d}\u{200d}\u{1f600}", "\u{1f600}\\u{200d}\\u{200d}\u{1f600}"),
            ("a\u{200d}\u{1f600}", "a\\u{200d}\u{1f600}"),
            ("1\u{fe0f}", "1\\u{fe0f}"),
            ("x\u{fe0f}", "x\\u{fe0f}"),
        ] {
            assert_eq!(harmless(text), expected);
        }
        assert!(harmless(&"\u{1f600}\u{200d}".repeat(20)).contains("\\u{200d}\u{1f600}"));
    }
}
