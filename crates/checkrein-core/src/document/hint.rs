//! "Did you mean": the nearest legal word to a misspelt one.

/// The candidate a person most likely meant, if one is near enough to be worth saying.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = normal(word);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let plain = normal(candidate);
        let distance = strsim::damerau_levenshtein(&word, &plain);
        let longer = word.chars().count().max(plain.chars().count());
        // Two of five letters may be wrong: enough for `fase`, too little for another word.
        if distance * 5 <= longer * 2 && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The legal words of a closed set, as a message lists them.
pub fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// Case and the choice between `-` and `_` are not worth a miss.
fn normal(word: &str) -> String {
    word.chars().take(64).flat_map(char::to_lowercase).map(|c| if c == '-' { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn names_the_nearest_word_or_none() {
        let words = ["check_in_frequency", "warning_tolerance", "error_tolerance", "limits", "level"];
        for (word, expected) in [
            ("check_in_frequenzy", Some("check_in_frequency")),
            ("check-in-frequency", Some("check_in_frequency")),
            ("Level", Some("level")),
            ("levle", Some("level")),
            ("limit", Some("limits")),
            ("eror_tolerance", Some("error_tolerance")),
            ("colour", None),
            ("lebl", Some("level")),
            ("", None),
        ] {
            assert_eq!(closest(word, words), expected, "{word}");
        }
    }
}
