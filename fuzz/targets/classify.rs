//! Words to look for, a blank line, and a text to look in. A word that was found is there, case does
//! not matter, and words that are added are not overlooked.
#![no_main]

use checkrein_core::classify::{Classifier, ClassifyConfig};
use checkrein_core::finding::{Category, Severity};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (words, text) = input.split_once("\n\n").unwrap_or(("", input));
    if let Ok(own) = Classifier::new(&config_of(words)) {
        check(&own, text);
    }
    let builtin = Classifier::builtin();
    check(builtin, text);
    let worse = format!("{text} critical security");
    let classified = builtin.classify(&worse);
    assert_eq!((classified.severity, classified.category), (Severity::High, Category::Security));
});

fn check(classifier: &Classifier, text: &str) {
    let classified = classifier.classify(text);
    let lower = text.to_lowercase();
    for word in [classified.severity_word, classified.category_word].into_iter().flatten() {
        let head = word.split_whitespace().next().expect("no word is empty").to_lowercase();
        assert!(lower.contains(&head), "`{head}` is not in the text");
    }
    assert_eq!(classifier.classify(&text.to_ascii_uppercase()), classified, "case does not matter");
}

/// The words one by one into the lists; `=` before a word replaces the list.
fn config_of(words: &str) -> ClassifyConfig {
    let mut config = ClassifyConfig::default();
    for (index, line) in words.lines().enumerate() {
        let list = match index % 5 {
            0 => &mut config.severity.high,
            1 => &mut config.severity.low,
            2 => &mut config.category.security,
            3 => &mut config.category.configuration,
            _ => &mut config.category.style,
        };
        match line.strip_prefix('=') {
            Some(word) => list.replace.get_or_insert_default().push(word.to_owned()),
            None => list.add.push(line.to_owned()),
        }
    }
    config
}
