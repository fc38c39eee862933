//! The words of a goal that carry its meaning.

use std::collections::BTreeSet;

/// Lower-case words of letters and digits of any script, longer than two characters, without the
/// English words that every goal shares.
pub fn keywords(text: &str) -> BTreeSet<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().nth(2).is_some() && !STOP_WORDS.contains(word))
        .map(str::to_owned)
        .collect()
}

/// The list is kept whole, although words of up to two letters never get this far.
const STOP_WORDS: &[&str] = &[
    "the", "a", "an", "and", "or", "but", "in", "on", "at", "to", "for", "of", "with", "by", "from", "as",
    "is", "was", "are", "were", "been", "be", "have", "has", "had", "do", "does", "did", "will", "would",
    "could", "should", "may", "might", "must", "shall", "can", "need", "this", "that", "these", "those",
    "it", "its", "i", "you", "he", "she", "we", "they",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_of_a_text() {
        for (text, expected) in [
            ("", vec![]),
            ("Fix the Authentication BUG", vec!["authentication", "bug", "fix"]),
            ("fix fix FIX", vec!["fix"]),
            ("go to db", vec![]),
            ("src/auth_token.rs:12", vec!["auth", "src", "token"]),
            ("they should need this", vec![]),
            ("needs", vec!["needs"]),
            ("http2 404 v2", vec!["404", "http2"]),
            ("Überprüfe die Größe", vec!["die", "größe", "überprüfe"]),
            ("исправить ошибку", vec!["исправить", "ошибку"]),
            ("认证模块 登录", vec!["认证模块"]),
            ("don't", vec!["don"]),
        ] {
            assert_eq!(keywords(text).into_iter().collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
