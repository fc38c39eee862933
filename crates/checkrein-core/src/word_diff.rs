//! Which words of changed lines are what changed.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::shown::emoji_length;

/// A piece of a line, and whether it is what changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    pub changed: bool,
}

/// Beyond so many words nobody compares them one by one.
const WORDS_MAX: usize = 4_000;
/// A line of which more than this many percent changed is a new line; picking words in it only distracts.
const CHANGED_PERCENT_MAX: usize = 70;

/// Lines that were removed and those that came in their place, each as pieces. The pieces of a line give the
/// line again. The first is compared with the first and so on; a line without a counterpart is new or gone as
/// a whole.
pub fn word_diff(removed: &[&str], added: &[&str]) -> (Vec<Vec<Piece>>, Vec<Vec<Piece>>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (old, new) in removed.iter().zip(added) {
        let (old, new) = line_diff(old, new);
        before.push(old);
        after.push(new);
    }
    before.extend(removed.iter().skip(added.len()).map(|line| whole(line)));
    after.extend(added.iter().skip(removed.len()).map(|line| whole(line)));
    (before, after)
}

fn line_diff(old_line: &str, new_line: &str) -> (Vec<Piece>, Vec<Piece>) {
    let (old, new) = (words(old_line), words(new_line));
    if old.len() + new.len() > WORDS_MAX {
        return (whole(old_line), whole(new_line));
    }
    let mut old_changed = vec![false; old.len()];
    let mut new_changed = vec![false; new.len()];
    let mark = |flags: &mut [bool], range: std::ops::Range<usize>| {
        flags.get_mut(range).into_iter().flatten().for_each(|flag| *flag = true);
    };
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        if !matches!(op, DiffOp::Equal { .. }) {
            mark(&mut old_changed, op.old_range());
            mark(&mut new_changed, op.new_range());
        }
    }
    let (old, new) = (joined(&old, &old_changed), joined(&new, &new_changed));
    // A short line may keep little of a long one and still be the same line.
    if is_other(&old) && is_other(&new) { (calm(old), calm(new)) } else { (old, new) }
}

fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let class = class(first);
        let end = match class {
            Class::Sign => emoji_length(rest).max(first.len_utf8()),
            _ => rest.find(|c| self::class(c) != class).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

#[derive(PartialEq, Eq)]
enum Class {
    Word,
    Space,
    /// Stands for itself.
    Sign,
}

fn class(c: char) -> Class {
    if c.is_alphanumeric() || c == '_' {
        Class::Word
    } else if c.is_whitespace() {
        Class::Space
    } else {
        Class::Sign
    }
}

/// Words put together again. A space between two words that changed went with them.
fn joined(words: &[&str], changed: &[bool]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let at = |index: usize| changed.get(index).copied().unwrap_or(false);
    for (index, word) in words.iter().enumerate() {
        let between = index > 0 && word.trim().is_empty() && at(index - 1) && at(index + 1);
        let changed = at(index) || between;
        match pieces.last_mut() {
            Some(piece) if piece.changed == changed => piece.text.push_str(word),
            _ => pieces.push(Piece { text: (*word).to_owned(), changed }),
        }
    }
    pieces
}

/// Whether so much of a line changed that it is another one.
fn is_other(line: &[Piece]) -> bool {
    let visible = |piece: &Piece| piece.text.chars().filter(|c| !c.is_whitespace()).count();
    let all: usize = line.iter().map(visible).sum();
    let changed: usize = line.iter().filter(|piece| piece.changed).map(visible).sum();
    changed * 100 > all * CHANGED_PERCENT_MAX
}

/// A line that is new as a whole has no words that stand out.
fn calm(line: Vec<Piece>) -> Vec<Piece> {
    vec![Piece { text: line.into_iter().map(|piece| piece.text).collect(), changed: false }]
}

fn whole(line: &str) -> Vec<Piece> {
    vec![Piece { text: line.to_owned(), changed: false }]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What changed stands in brackets.
    fn shown(lines: &[Vec<Piece>]) -> String {
        let piece = |piece: &Piece| match piece.changed {
            true => format!("[{}]", piece.text),
            false => piece.text.clone(),
        };
        let line = |line: &Vec<Piece>| line.iter().map(piece).collect::<String>();
        lines.iter().map(line).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn words_that_changed_stand_out() {
        for (removed, added, expected) in [
            (&["let a = 1;"][..], &["let b = 1;"][..], "let [a] = 1; → let [b] = 1;"),
            (&["hello world"], &["hello brave world"], "hello world → hello [brave ]world"),
            (&["call(one, two)"], &["call(two)"], "call([one, ]two) → call(two)"),
            // Spaces alone may be what changed.
            (&["  x = y"], &["\tx = y"], "[  ]x = y → [\t]x = y"),
            // A line that is new as a whole.
            (&["all of this"], &["something else"], "all of this → something else"),
            // Two lines for one.
            (
                &["if ready { go() }"],
                &["if ready {", "    go() }"],
                "if ready {[ go() }] → if ready {|    go() }",
            ),
            (&["one two three"], &["one 2 3"], "one [two three] → one [2 3]"),
            (&["to all of you"], &["to you", "to all of you"], "to [all of ]you → to you|to all of you"),
            (&[], &["new"], " → new"),
            (&["gone"], &[], "gone → "),
            (&["größe: 1 €"], &["größe: 2 €"], "größe: [1] € → größe: [2] €"),
        ] {
            let (old, new) = word_diff(removed, added);
            assert_eq!(format!("{} → {}", shown(&old), shown(&new)), expected);
        }
    }

    #[test]
    fn very_long_lines_are_not_compared() {
        let (one, other) = ("a ".repeat(WORDS_MAX), "b ".repeat(WORDS_MAX));
        let (old, new) = word_diff(&[&one], &[&other]);
        assert_eq!((old.len(), new.len()), (1, 1));
    }

    proptest! {
        #[test]
        fn the_pieces_of_a_line_give_the_line_again(
            removed in prop::collection::vec("[a-c ü(\t]{0,12}", 0..4),
            added in prop::collection::vec("[a-c ü(\t]{0,12}", 0..4),
        ) {
            fn texts(lines: &[Vec<Piece>]) -> Vec<String> {
                lines.iter().map(|line| line.iter().map(|piece| piece.text.as_str()).collect()).collect()
            }
            let (before, after): (Vec<&str>, Vec<&str>) =
                (removed.iter().map(String::as_str).collect(), added.iter().map(String::as_str).collect());
            let (old, new) = word_diff(&before, &after);
            prop_assert_eq!(texts(&old), removed);
            prop_assert_eq!(texts(&new), added);
        }
    }
}
