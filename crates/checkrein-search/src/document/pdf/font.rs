//! From the codes of a font to characters.

use std::collections::HashMap;

use super::file::{File, reference};
use super::object::{Reader, Value};

#[derive(Default)]
pub struct Font {
    /// Bytes of one code.
    width: usize,
    known: HashMap<u32, String>,
    /// Whether a code that is not known is a character of Windows' Latin.
    latin: bool,
}

/// Entries of one map.
const CODES_MAX: usize = 70_000;

impl Font {
    pub fn of(file: &mut File<'_>, font: &Value) -> Font {
        let composite = file.get(font, "Subtype").name() == Some("Type0");
        let mut read =
            Font { width: if composite { 2 } else { 1 }, known: HashMap::new(), latin: !composite };
        if let Value::List(differences) = file.get(file.get(font, "Encoding"), "Differences") {
            let mut code = 0;
            for entry in differences {
                match entry {
                    Value::Number(number) => code = *number as u32,
                    Value::Name(glyph) => {
                        if let Some(character) = glyph_character(glyph) {
                            read.known.insert(code, character.to_string());
                        }
                        code += 1;
                    }
                    _ => {}
                }
            }
        }
        let map = file.raw(font, "ToUnicode").and_then(reference);
        if let Some(map) = map.and_then(|number| file.data(number)) {
            read.read_map(&map);
        }
        read
    }

    /// `<0003> <0020>` and `<0010> <0020> <0041>` between the words that say which.
    fn read_map(&mut self, map: &[u8]) {
        let mut reader = Reader::new(map, 0);
        let mut values: Vec<Value> = Vec::new();
        while let Some(value) = reader.value() {
            let Value::Word(word) = &value else {
                if values.len() < CODES_MAX {
                    values.push(value);
                }
                continue;
            };
            match word.as_str() {
                "endcodespacerange" => {
                    if let Some(Value::Text(first)) = values.first() {
                        self.width = first.len().clamp(1, 4);
                    }
                }
                "endbfchar" => values.chunks_exact(2).for_each(|pair| {
                    if let [Value::Text(code), Value::Text(text)] = pair {
                        self.known.insert(number(code), utf16(text));
                    }
                }),
                "endbfrange" => values.chunks_exact(3).for_each(|three| self.range(three)),
                _ => {}
            }
            values.clear();
        }
    }

    fn range(&mut self, three: &[Value]) {
        let [Value::Text(from), Value::Text(to), target] = three else { return };
        let (from, to) = (number(from), number(to));
        for (step, code) in (0_u32..).zip(from..=to).take(CODES_MAX) {
            let text = match target {
                Value::Text(first) => {
                    let mut characters: Vec<char> = utf16(first).chars().collect();
                    let last = characters
                        .pop()
                        .and_then(|last| char::from_u32(u32::from(last).saturating_add(step)));
                    characters.extend(last);
                    characters.into_iter().collect()
                }
                Value::List(list) => match usize::try_from(step).ok().and_then(|step| list.get(step)) {
                    Some(Value::Text(text)) => utf16(text),
                    _ => continue,
                },
                _ => return,
            };
            if self.known.len() < CODES_MAX {
                self.known.insert(code, text);
            }
        }
    }

    pub fn text(&self, bytes: &[u8]) -> String {
        let mut out = String::new();
        for code in bytes.chunks(self.width.max(1)) {
            let code = number(code);
            match self.known.get(&code) {
                Some(text) => out.push_str(text),
                None if self.latin => out.extend(latin(code)),
                None => {}
            }
        }
        out
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn utf16(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes(pair.try_into().unwrap_or_default()));
    char::decode_utf16(units).filter_map(Result::ok).filter(|c| *c != '\0').collect()
}

/// A byte as Windows has it in the west.
fn latin(code: u32) -> Option<char> {
    const HIGH: &str = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ";
    match code {
        0..=0x1f | 0x7f => None,
        0x80..=0x9f => HIGH.chars().nth(usize::try_from(code - 0x80).ok()?),
        _ => char::from_u32(code),
    }
}

/// A character by the name fonts have for it.
fn glyph_character(name: &str) -> Option<char> {
    let mut letters = name.chars();
    if let (Some(one), None) = (letters.next(), letters.next()) {
        return Some(one);
    }
    let hex = name.strip_prefix("uni").or(name.strip_prefix('u')).filter(|hex| hex.len() >= 4);
    let code = hex.and_then(|hex| u32::from_str_radix(hex.get(..hex.len().min(6))?, 16).ok());
    if let Some(character) = code.and_then(char::from_u32) {
        return Some(character);
    }
    GLYPHS.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)
}

const GLYPHS: &[(&str, char)] = &[
    ("space", ' '),
    ("period", '.'),
    ("comma", ','),
    ("colon", ':'),
    ("semicolon", ';'),
    ("hyphen", '-'),
    ("endash", '–'),
    ("emdash", '—'),
    ("parenleft", '('),
    ("parenright", ')'),
    ("bracketleft", '['),
    ("bracketright", ']'),
    ("braceleft", '{'),
    ("braceright", '}'),
    ("slash", '/'),
    ("backslash", '\\'),
    ("bar", '|'),
    ("underscore", '_'),
    ("quotesingle", '\''),
    ("quotedbl", '"'),
    ("quoteleft", '‘'),
    ("quoteright", '’'),
    ("quotedblleft", '“'),
    ("quotedblright", '”'),
    ("question", '?'),
    ("exclam", '!'),
    ("numbersign", '#'),
    ("dollar", '$'),
    ("percent", '%'),
    ("ampersand", '&'),
    ("asterisk", '*'),
    ("plus", '+'),
    ("equal", '='),
    ("less", '<'),
    ("greater", '>'),
    ("at", '@'),
    ("asciitilde", '~'),
    ("asciicircum", '^'),
    ("grave", '`'),
    ("bullet", '•'),
    ("degree", '°'),
    ("section", '§'),
    ("copyright", '©'),
    ("registered", '®'),
    ("zero", '0'),
    ("one", '1'),
    ("two", '2'),
    ("three", '3'),
    ("four", '4'),
    ("five", '5'),
    ("six", '6'),
    ("seven", '7'),
    ("eight", '8'),
    ("nine", '9'),
    ("fi", 'ﬁ'),
    ("fl", 'ﬂ'),
    ("ff", 'ﬀ'),
    ("ffi", 'ﬃ'),
    ("ffl", 'ﬄ'),
    ("adieresis", 'ä'),
    ("odieresis", 'ö'),
    ("udieresis", 'ü'),
    ("Adieresis", 'Ä'),
    ("Odieresis", 'Ö'),
    ("Udieresis", 'Ü'),
    ("germandbls", 'ß'),
    ("eacute", 'é'),
    ("egrave", 'è'),
    ("agrave", 'à'),
    ("ccedilla", 'ç'),
    ("ntilde", 'ñ'),
    ("ecircumflex", 'ê'),
    ("acircumflex", 'â'),
    ("ocircumflex", 'ô'),
    ("icircumflex", 'î'),
    ("aring", 'å'),
    ("oslash", 'ø'),
    ("ae", 'æ'),
];
