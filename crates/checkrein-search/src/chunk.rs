//! Pieces that are found: as much of a section as the model reads at once, never across headings.

use checkrein_core::deliverable::Digest;

use crate::document::{DocumentKind, Unreadable, blocks};

/// About as many words as the model has tokens for.
pub const CHUNK_WORDS_MAX: usize = 90;
/// Words without spaces between them are counted by their length.
const WORD_BYTES: usize = 12;
/// A document of more chunks is cut there.
const CHUNKS_MAX: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub heading: String,
    pub first_line: u32,
    pub last_line: u32,
    pub text: String,
}

impl Chunk {
    /// What the model reads.
    pub fn read(&self) -> String {
        if self.heading.is_empty() { self.text.clone() } else { format!("{}\n{}", self.heading, self.text) }
    }

    /// The same content has the same vector.
    pub fn digest(&self) -> Digest {
        Digest::of(self.read().as_bytes())
    }
}

/// The pieces of a document, in its order.
pub fn chunks(kind: DocumentKind, bytes: &[u8]) -> Result<Vec<Chunk>, Unreadable> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut words = 0;
    for block in blocks(kind, bytes)? {
        let size = count(&block.text);
        if let Some(last) = chunks.last_mut()
            && last.heading == block.heading
            && words + size <= CHUNK_WORDS_MAX
        {
            last.text.push_str("\n\n");
            last.text.push_str(&block.text);
            last.last_line = block.last_line;
            words += size;
            continue;
        }
        for (text, first, last) in pieces(&block.text) {
            words = count(&text);
            // A block of one line that came from another place than a line keeps its own number.
            let (first_line, last_line) =
                (block.first_line + first, (block.first_line + last).min(block.last_line));
            chunks.push(Chunk { heading: block.heading.clone(), first_line, last_line, text });
        }
        if chunks.len() >= CHUNKS_MAX {
            chunks.truncate(CHUNKS_MAX);
            break;
        }
    }
    Ok(chunks)
}

fn count(text: &str) -> usize {
    text.split_whitespace().map(|word| word.len().div_ceil(WORD_BYTES)).sum()
}

/// A text in parts that fit, with the lines they begin and end at, from 0: ended at sentences where they can be.
fn pieces(text: &str) -> Vec<(String, u32, u32)> {
    if count(text) <= CHUNK_WORDS_MAX {
        let lines = u32::try_from(text.lines().count().saturating_sub(1)).unwrap_or(0);
        return vec![(text.to_owned(), 0, lines)];
    }
    let mut pieces = Vec::new();
    let (mut piece, mut size, mut begun) = (String::new(), 0, 0);
    let mut last = 0;
    for (number, line) in (0..).zip(text.lines()) {
        for part in line.split_inclusive([' ', '\t']).flat_map(short) {
            let more = count(part);
            // Past two thirds a sentence that ends, ends the piece.
            let ends =
                size * 3 > CHUNK_WORDS_MAX * 2 && piece.trim_end().ends_with(['.', '!', '?', ':', ';']);
            if !piece.is_empty() && (size + more > CHUNK_WORDS_MAX || ends) {
                pieces.push((piece.trim().to_owned(), begun, last));
                (piece, size) = (String::new(), 0);
            }
            if piece.is_empty() {
                begun = number;
            }
            piece.push_str(part);
            size += more;
            last = number;
        }
        piece.push('\n');
    }
    if !piece.trim().is_empty() {
        pieces.push((piece.trim().to_owned(), begun, last));
    }
    pieces
}

/// A word that is no word, such as an image in letters, in parts.
fn short(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let most = CHUNK_WORDS_MAX * WORD_BYTES;
        let end =
            (0..=most.min(rest.len())).rev().find(|end| rest.is_char_boundary(*end)).filter(|end| *end > 0);
        let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Chunk> {
        chunks(DocumentKind::Markdown, text.as_bytes()).unwrap()
    }

    #[test]
    fn small_paragraphs_of_a_section_stand_together() {
        let found = of("# A\none\n\ntwo\n# B\nthree\n");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].text.as_str(), found[0].first_line, found[0].last_line), ("one\n\ntwo", 2, 4));
        assert_eq!((found[1].heading.as_str(), found[1].text.as_str()), ("B", "three"));
    }

    #[test]
    fn a_long_text_is_parted_at_sentences_and_loses_nothing() {
        let line = "The quick brown fox jumps over the lazy dog near the river bank today.\n";
        let text = line.repeat(40);
        let found = of(&text);
        assert!(found.len() > 4);
        let words: usize = found.iter().map(|chunk| chunk.text.split_whitespace().count()).sum();
        assert_eq!(words, text.split_whitespace().count());
        for chunk in &found {
            assert!(count(&chunk.text) <= CHUNK_WORDS_MAX);
            assert!(chunk.text.ends_with('.'), "{}", chunk.text);
            assert!(chunk.first_line <= chunk.last_line && chunk.last_line <= 40);
        }
        assert_eq!(found.last().unwrap().last_line, 40);
        // One word of a megabyte.
        assert!(of(&"é".repeat(1 << 19)).len() > 100);
    }
}
