//! The part of a text somebody is shown, with what matched.

use serde::Serialize;

use crate::query::stem;

/// A part of a text. Marks are places in it, counted in characters: from, up to and without.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Snippet {
    #[serde(rename = "snippet")]
    pub text: String,
    pub marks: Vec<(usize, usize)>,
}

/// The stretch of about `chars` characters with the most of the words in it, on one line.
pub fn snippet(text: &str, terms: &[String], chars: usize) -> Snippet {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let stems: Vec<String> = terms.iter().map(|term| stem(term)).collect();
    let words = words(&text);
    let hits: Vec<(usize, usize, usize)> = words
        .iter()
        .filter_map(|(from, to, word)| {
            let found = stem(word);
            stems.iter().position(|stem| *stem == found).map(|which| (*from, *to, which))
        })
        .collect();
    let length = text.chars().count();
    let from = best_start(&hits, length, chars);
    let from = words.iter().map(|(begin, _, _)| *begin).filter(|begin| *begin <= from).max().unwrap_or(0);
    let from = if from < 20 { 0 } else { from };
    let to =
        words.iter().map(|(_, end, _)| *end).filter(|end| *end <= from + chars).max().unwrap_or(from + chars);
    // A full stop behind the last word belongs to it.
    let to = if to + 2 >= length || to <= from { length.min(from + chars + 2) } else { to };
    let (before, behind) = (if from > 0 { "… " } else { "" }, if to < length { " …" } else { "" });
    let shift = before.chars().count();
    let part: String = text.chars().skip(from).take(to - from).collect();
    let inside = hits.iter().filter(|(begin, end, _)| *begin >= from && *end <= to);
    let marks = inside.map(|(begin, end, _)| (begin - from + shift, end - from + shift)).collect();
    Snippet { text: format!("{before}{part}{behind}"), marks }
}

/// Where a window begins that has the most different words, then the most words.
fn best_start(hits: &[(usize, usize, usize)], length: usize, chars: usize) -> usize {
    if length <= chars {
        return 0;
    }
    let window = |start: usize| {
        let inside: Vec<usize> = hits
            .iter()
            .filter(|(from, to, _)| *from >= start && *to <= start + chars)
            .map(|(_, _, which)| *which)
            .collect();
        let mut different = inside.clone();
        different.sort_unstable();
        different.dedup();
        (different.len(), inside.len())
    };
    let lead = chars / 4;
    let mut starts: Vec<usize> = hits.iter().map(|(from, _, _)| from.saturating_sub(lead)).collect();
    starts.push(0);
    starts.sort_unstable();
    let mut best = (0, (0, 0));
    for start in starts {
        let found = window(start);
        if found > best.1 {
            best = (start, found);
        }
    }
    best.0
}

/// Words with their places, in characters.
fn words(text: &str) -> Vec<(usize, usize, String)> {
    let mut words = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (place, character) in text.chars().chain([' ']).enumerate() {
        if character.is_alphanumeric() {
            open.get_or_insert_with(|| (place, String::new())).1.push(character);
        } else if let Some((from, word)) = open.take() {
            words.push((from, place, word));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, query: &str, chars: usize) -> String {
        let snippet = snippet(text, &crate::query::terms(query), chars);
        let mut out = String::new();
        for (place, character) in snippet.text.chars().enumerate() {
            if snippet.marks.iter().any(|(from, _)| *from == place) {
                out.push('[');
            }
            out.push(character);
            if snippet.marks.iter().any(|(_, to)| *to == place + 1) {
                out.push(']');
            }
        }
        out
    }

    #[test]
    fn matches_are_marked_and_in_the_middle() {
        assert_eq!(
            shown("We migrate the\ndatabase.", "database migrations", 80),
            "We [migrate] the [database]."
        );
        let long = format!(
            "{} The größte rollback plan is here. {}",
            "filler words ".repeat(40),
            "more text ".repeat(40)
        );
        let found = shown(&long, "rollback plans", 60);
        assert!(found.starts_with("… ") && found.ends_with(" …"), "{found}");
        assert!(found.contains("[rollback] [plan]"), "{found}");
        assert_eq!(shown("nothing of it", "elsewhere", 80), "nothing of it");
        assert_eq!(shown("", "x", 80), "");
        assert!(shown(&"é".repeat(500), "x", 50).chars().count() <= 56);
    }
}
