//! Words in pieces, as the built-in model was taught them: lower case, without accents, the longest known piece
//! first.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

static VOCABULARY: &str = include_str!("../model/vocab.txt");

const BEGIN: usize = 101;
const END: usize = 102;
const UNKNOWN: usize = 100;
/// A longer word is none.
const WORD_CHARS_MAX: usize = 100;

pub struct WordPiece {
    firsts: HashMap<&'static str, usize>,
    /// What may follow in the same word.
    nexts: HashMap<&'static str, usize>,
}

/// The tokens of one text, with those that mark its beginning and its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokens(Vec<usize>);

impl Tokens {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }
}

impl WordPiece {
    pub fn builtin() -> WordPiece {
        let (mut firsts, mut nexts) = (HashMap::with_capacity(25_000), HashMap::with_capacity(6_000));
        for (number, piece) in VOCABULARY.lines().enumerate() {
            match piece.strip_prefix("##").filter(|rest| !rest.is_empty()) {
                Some(rest) => nexts.insert(rest, number),
                None => firsts.insert(piece, number),
            };
        }
        WordPiece { firsts, nexts }
    }

    /// At most so many.
    pub fn tokens(&self, text: &str, most: usize) -> Tokens {
        let mut tokens = vec![BEGIN];
        let mut word = String::new();
        let room = most.saturating_sub(1);
        for character in text.nfd().filter(|c| !is_combining_mark(*c) && !is_nothing(*c)) {
            if tokens.len() >= room {
                break;
            }
            if character.is_whitespace() {
                self.end_word(&mut word, &mut tokens);
            } else if is_mark(character) || is_ideograph(character) {
                self.end_word(&mut word, &mut tokens);
                word.push(character);
                self.end_word(&mut word, &mut tokens);
            } else {
                word.extend(character.to_lowercase());
            }
        }
        self.end_word(&mut word, &mut tokens);
        tokens.truncate(room.max(1));
        tokens.push(END);
        Tokens(tokens)
    }

    fn end_word(&self, word: &mut String, tokens: &mut Vec<usize>) {
        if !word.is_empty() {
            self.pieces(word, tokens);
            word.clear();
        }
    }

    fn pieces(&self, word: &str, tokens: &mut Vec<usize>) {
        let begun = tokens.len();
        let mut rest = word;
        if word.chars().count() > WORD_CHARS_MAX {
            tokens.push(UNKNOWN);
            return;
        }
        while !rest.is_empty() {
            let known = if tokens.len() == begun { &self.firsts } else { &self.nexts };
            let ends = rest.char_indices().map(|(at, character)| at + character.len_utf8()).rev();
            let longest = ends
                .filter_map(|end| rest.split_at_checked(end))
                .find_map(|(piece, behind)| known.get(piece).map(|number| (*number, behind)));
            let Some((number, behind)) = longest else {
                // A word that has an unknown piece is unknown as a whole.
                tokens.truncate(begun);
                tokens.push(UNKNOWN);
                return;
            };
            tokens.push(number);
            rest = behind;
        }
    }
}

fn is_nothing(character: char) -> bool {
    character == '\u{fffd}' || (character.is_control() && !matches!(character, '\t' | '\n' | '\r'))
}

/// Punctuation stands for itself.
fn is_mark(character: char) -> bool {
    character.is_ascii_punctuation()
        || matches!(character, '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}'
            | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}')
}

fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2ceaf}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_the_pieces_the_model_knows() {
        let words = WordPiece::builtin();
        let pieces: Vec<&str> = VOCABULARY.lines().collect();
        for (text, expected) in [
            ("Hello, World!", "[CLS] hello , world ! [SEP]"),
            ("unaffable Café", "[CLS] una ##ffa ##ble cafe [SEP]"),
            ("don't re-run x_y", "[CLS] don ' t re - run x _ y [SEP]"),
            ("", "[CLS] [SEP]"),
            ("日本 \u{0}ok", "[CLS] 日 本 ok [SEP]"),
        ] {
            let tokens = words.tokens(text, 128);
            let read: Vec<&str> = tokens.iter().map(|number| pieces[number]).collect();
            assert_eq!(read.join(" "), expected, "{text}");
        }
        assert_eq!(words.tokens(&"word ".repeat(500), 128).len(), 128);
        assert_eq!(words.tokens(&"x".repeat(101), 128).0, [BEGIN, UNKNOWN, END]);
    }
}
