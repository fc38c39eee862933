//! What somebody types, as words to look for.

/// Words of a question that say nothing about what it is about.
const STOP: &[&str] = &[
    "a",
    "about",
    "after",
    "again",
    "all",
    "also",
    "always",
    "am",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "both",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "doing",
    "down",
    "each",
    "few",
    "for",
    "from",
    "further",
    "get",
    "gets",
    "got",
    "had",
    "has",
    "have",
    "having",
    "he",
    "her",
    "here",
    "him",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "let",
    "many",
    "may",
    "me",
    "might",
    "more",
    "most",
    "much",
    "must",
    "my",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "often",
    "on",
    "once",
    "one",
    "only",
    "or",
    "other",
    "our",
    "out",
    "over",
    "own",
    "same",
    "shall",
    "she",
    "should",
    "so",
    "some",
    "somebody",
    "someone",
    "something",
    "still",
    "such",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "us",
    "very",
    "via",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "without",
    "would",
    "yet",
    "you",
    "your",
];
/// More words do not make a question clearer.
const TERMS_MAX: usize = 32;

/// The words of a query, in lower case and each once; without those that say nothing, if any others are left.
pub fn terms(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let telling: Vec<String> = words.iter().filter(|word| !STOP.contains(&word.as_str())).cloned().collect();
    let mut words = if telling.is_empty() { words } else { telling };
    words.truncate(TERMS_MAX);
    words
}

/// Which part of the words is in a text, from 0 to 1.
pub fn coverage(text: &str, terms: &[String]) -> f32 {
    let words: std::collections::HashSet<String> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(stem).collect();
    let found = terms.iter().filter(|term| words.contains(&stem(term))).count();
    if terms.is_empty() { 0.0 } else { found as f32 / terms.len() as f32 }
}

/// A word without its ending, roughly as the index has it: enough to mark what was found.
pub fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    let endings = [
        "ingly", "edly", "ings", "ions", "ion", "ing", "ies", "ied", "ment", "ness", "ers", "ed", "es", "er",
        "ly", "y", "s", "e",
    ];
    for ending in endings {
        if let Some(short) = word.strip_suffix(ending).filter(|short| short.chars().count() >= 3) {
            let mut short = short.to_owned();
            // running → runn → run
            let mut last = short.chars().rev();
            if let (Some(one), Some(two)) = (last.next(), last.next())
                && one == two
                && !matches!(one, 'l' | 's' | 'z' | 'a' | 'e' | 'i' | 'o' | 'u')
            {
                short.pop();
            }
            return short;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_what_it_is_about() {
        assert_eq!(terms("How do I roll back the release?"), ["roll", "back", "release"]);
        assert_eq!(terms("who is it"), ["who", "is", "it"]);
        assert_eq!(terms("E0308 `foo_bar` foo"), ["e0308", "foo", "bar"]);
        assert_eq!(terms(" - \" * "), [""; 0]);
        assert_eq!(terms(&"x y z w ".repeat(50)).len(), 4);
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for (one, other) in
            [("running", "runs"), ("migrate", "migrations"), ("Policies", "policy"), ("deployed", "deploys")]
        {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
    }
}
