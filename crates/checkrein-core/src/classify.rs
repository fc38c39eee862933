//! Which severity and category a text speaks of, by its words (W13, X15).
//!
//! All words of both questions are found in one pass over the text, since an agent may return
//! thousands of findings. A word counts at the start of a word: "failed" is `fail`, "information"
//! is not `format`.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::finding::{Category, Severity};

/// The words that ship. `word$` matches a whole word only, so that "author" is not about `auth`.
const SEVERITY_WORDS: [(Severity, &[&str]); 3] = [
    (Severity::High, &["critical", "security", "breaking", "fail"]),
    (Severity::Medium, &["deprecated", "warning", "should", "consider"]),
    (Severity::Low, &["style", "minor", "optional", "info"]),
];

const CATEGORY_WORDS: [(Category, &[&str]); 7] = [
    (
        Category::Security,
        &[
            "security",
            "vulnerability",
            "vulnerabilities",
            "auth$",
            "authn$",
            "authz$",
            "authentic",
            "authoriz",
            "permission",
        ],
    ),
    (Category::Deprecation, &["deprecated", "deprecation", "removed in", "obsolete"]),
    (Category::Performance, &["slow", "performance", "memory", "cpu"]),
    (Category::Validation, &["invalid", "validation", "schema", "required"]),
    (Category::Compatibility, &["incompatible", "compatib", "unsupported"]),
    (Category::Configuration, &["config", "setting", "environment variable"]),
    (Category::Style, &["style", "format", "lint", "convention"]),
];

/// `classify:` in a config file: words to add to the built-in ones, or to use instead of them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClassifyConfig {
    /// Words that tell a severity when a finding does not state one.
    pub severity: SeverityWords,
    /// Words that tell a category when a finding does not state one.
    pub category: CategoryWords,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SeverityWords {
    pub high: WordChange,
    pub medium: WordChange,
    pub low: WordChange,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CategoryWords {
    pub security: WordChange,
    pub deprecation: WordChange,
    pub performance: WordChange,
    pub validation: WordChange,
    pub compatibility: WordChange,
    pub configuration: WordChange,
    pub style: WordChange,
}

/// A change to one list of words. A word matches at the start of a word; `word$` a whole word only.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WordChange {
    /// Words beside the built-in ones.
    pub add: Vec<String>,
    /// Words instead of the built-in ones.
    pub replace: Option<Vec<String>>,
}

impl ClassifyConfig {
    /// The same with a stronger layer on top: what it replaces is replaced, what it adds is added.
    pub fn overlay(mut self, stronger: ClassifyConfig) -> ClassifyConfig {
        let severity = [
            (&mut self.severity.high, stronger.severity.high),
            (&mut self.severity.medium, stronger.severity.medium),
            (&mut self.severity.low, stronger.severity.low),
        ];
        let category = [
            (&mut self.category.security, stronger.category.security),
            (&mut self.category.deprecation, stronger.category.deprecation),
            (&mut self.category.performance, stronger.category.performance),
            (&mut self.category.validation, stronger.category.validation),
            (&mut self.category.compatibility, stronger.category.compatibility),
            (&mut self.category.configuration, stronger.category.configuration),
            (&mut self.category.style, stronger.category.style),
        ];
        for (weak, strong) in severity.into_iter().chain(category) {
            if strong.replace.is_some() {
                *weak = strong;
            } else {
                weak.add.extend(strong.add);
            }
        }
        self
    }

    fn severity_change(&self, severity: Severity) -> &WordChange {
        match severity {
            Severity::High => &self.severity.high,
            Severity::Medium => &self.severity.medium,
            Severity::Low => &self.severity.low,
        }
    }

    fn category_change(&self, category: &Category) -> Option<&WordChange> {
        let words = &self.category;
        match category {
            Category::Security => Some(&words.security),
            Category::Deprecation => Some(&words.deprecation),
            Category::Performance => Some(&words.performance),
            Category::Validation => Some(&words.validation),
            Category::Compatibility => Some(&words.compatibility),
            Category::Configuration => Some(&words.configuration),
            Category::Style => Some(&words.style),
            Category::Other | Category::Own(_) => None,
        }
    }
}

/// What a text speaks of, and the words that said so (none: nothing matched, the default holds).
#[derive(Clone, Debug, PartialEq)]
pub struct Classified<'c> {
    pub severity: Severity,
    pub severity_word: Option<&'c str>,
    pub category: Category,
    pub category_word: Option<&'c str>,
}

/// All words, ready to be looked for.
#[derive(Debug, Default)]
pub struct Classifier {
    /// None looks for nothing.
    automaton: Option<AhoCorasick>,
    words: Vec<Word>,
    /// A word outside ASCII needs the text lower-cased the long way.
    folds: bool,
}

#[derive(Debug)]
struct Word {
    /// As configured, which is what a person is shown.
    shown: String,
    /// The words after the first, for `removed in`: any white space may stand between them.
    tail: Vec<String>,
    /// Whether the match must end with the word.
    whole: bool,
    tells: Tells,
}

/// What a word tells; a lower rank wins over a higher one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tells {
    Severity(usize),
    Category(usize),
}

#[derive(Debug, thiserror::Error)]
pub enum ClassifyError {
    #[error("`{word}` is not a word to look for: it begins with no letter or digit")]
    NotAWord { word: String },
    #[error("these words cannot be searched for together: {reason}")]
    TooMany { reason: String },
}

/// Whether a configured word can be looked for at all.
pub fn check_word(word: &str) -> Result<(), ClassifyError> {
    Word::parse(word, Tells::Severity(0)).map(|_| ())
}

static BUILTIN: LazyLock<Classifier> =
    LazyLock::new(|| Classifier::new(&ClassifyConfig::default()).unwrap_or_default());

impl Classifier {
    /// The words that ship.
    pub fn builtin() -> &'static Classifier {
        &BUILTIN
    }

    pub fn new(config: &ClassifyConfig) -> Result<Classifier, ClassifyError> {
        let mut words = Vec::new();
        let mut heads = Vec::new();
        let mut enlist = |builtin: &[&str], change: &WordChange, tells: Tells| -> Result<(), ClassifyError> {
            let kept: Vec<&str> = match &change.replace {
                Some(replaced) => replaced.iter().map(String::as_str).collect(),
                None => builtin.to_vec(),
            };
            for shown in kept.into_iter().chain(change.add.iter().map(String::as_str)) {
                let (head, word) = Word::parse(shown, tells)?;
                heads.push(head);
                words.push(word);
            }
            Ok(())
        };
        for (rank, (severity, builtin)) in SEVERITY_WORDS.iter().enumerate() {
            enlist(builtin, config.severity_change(*severity), Tells::Severity(rank))?;
        }
        for (rank, (category, builtin)) in CATEGORY_WORDS.iter().enumerate() {
            if let Some(change) = config.category_change(category) {
                enlist(builtin, change, Tells::Category(rank))?;
            }
        }
        let folds = !words.iter().all(|word| word.shown.is_ascii());
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&heads)
            .map_err(|error| ClassifyError::TooMany { reason: error.to_string() })?;
        Ok(Classifier { automaton: Some(automaton), words, folds })
    }

    pub fn classify(&self, text: &str) -> Classified<'_> {
        if self.folds && !text.is_ascii() { self.scan(&text.to_lowercase()) } else { self.scan(text) }
    }

    fn scan(&self, text: &str) -> Classified<'_> {
        let mut severity: Option<(usize, &Word)> = None;
        let mut category: Option<(usize, &Word)> = None;
        for found in self.automaton.iter().flat_map(|automaton| automaton.find_overlapping_iter(text)) {
            let Some(word) = self.words.get(found.pattern().as_usize()) else { continue };
            let (slot, rank) = match word.tells {
                Tells::Severity(rank) => (&mut severity, rank),
                Tells::Category(rank) => (&mut category, rank),
            };
            let better = slot.is_none_or(|(best, _)| rank < best);
            if better && starts_word(text, found.start()) && word.fits(text, found.end()) {
                *slot = Some((rank, word));
            }
        }
        let row = |slot: Option<(usize, &Word)>| slot.map(|(rank, _)| rank);
        Classified {
            severity: row(severity)
                .and_then(|rank| SEVERITY_WORDS.get(rank))
                .map_or(Severity::DEFAULT, |(severity, _)| *severity),
            severity_word: severity.map(|(_, word)| word.shown.as_str()),
            category: row(category)
                .and_then(|rank| CATEGORY_WORDS.get(rank))
                .map_or(Category::Other, |(category, _)| category.clone()),
            category_word: category.map(|(_, word)| word.shown.as_str()),
        }
    }
}

impl Word {
    /// The head to look for, and what must stand around it.
    fn parse(shown: &str, tells: Tells) -> Result<(String, Word), ClassifyError> {
        let (text, whole) = match shown.strip_suffix('$') {
            Some(text) => (text, true),
            None => (shown, false),
        };
        let mut parts = text.split_whitespace().map(str::to_lowercase);
        let head = parts.next().filter(|head| head.starts_with(char::is_alphanumeric));
        let Some(head) = head else { return Err(ClassifyError::NotAWord { word: shown.to_owned() }) };
        let shown = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok((head, Word { shown, tail: parts.collect(), whole, tells }))
    }

    /// Whether the rest of the word follows at `end`.
    fn fits(&self, text: &str, end: usize) -> bool {
        let Some(mut rest) = text.get(end..) else { return false };
        for part in &self.tail {
            let spaced = rest.trim_start();
            let head = spaced.get(..part.len());
            if spaced.len() == rest.len() || !head.is_some_and(|head| head.eq_ignore_ascii_case(part)) {
                return false;
            }
            rest = spaced.get(part.len()..).unwrap_or("");
        }
        !self.whole || !rest.starts_with(char::is_alphanumeric)
    }
}

fn starts_word(text: &str, start: usize) -> bool {
    match start.checked_sub(1).and_then(|before| text.as_bytes().get(before)) {
        None => true,
        Some(byte) if byte.is_ascii() => !byte.is_ascii_alphanumeric(),
        Some(_) => !text.get(..start).is_some_and(|before| before.ends_with(char::is_alphanumeric)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let classified = Classifier::builtin().classify(text);
        let actual = format!(
            "{} {} ({} {})",
            classified.severity,
            classified.category,
            classified.severity_word.unwrap_or("-"),
            classified.category_word.unwrap_or("-")
        );
        assert_eq!(actual, expected, "{text}");
    }

    #[test]
    fn words_tell_severity_and_category() {
        for (text, expected) in [
            ("", "medium other (- -)"),
            ("nothing telling", "medium other (- -)"),
            // severity: high over medium over low, wherever they stand
            ("Critical outage", "high other (critical -)"),
            ("a BREAKING change", "high other (breaking -)"),
            ("Build failed", "high other (fail -)"),
            ("You should consider this", "medium other (should -)"),
            ("minor: consider a rename", "medium other (consider -)"),
            ("optional cleanup", "low other (optional -)"),
            ("informational", "low other (info -)"),
            ("style nit, but security relevant", "high security (security security)"),
            // start of a word only
            ("information", "low other (info -)"),
            ("unfailing", "medium other (- -)"),
            ("reformatted", "medium other (- -)"),
            ("user_info missing", "low other (info -)"),
            ("1slow", "medium other (- -)"),
            ("éfail", "medium other (- -)"),
            ("(fail)", "high other (fail -)"),
            // categories
            ("Deprecated API usage", "medium deprecation (deprecated deprecated)"),
            ("will be removed in v3.0", "medium deprecation (- removed in)"),
            ("will be removed\n  in v3.0", "medium deprecation (- removed in)"),
            ("removed entirely", "medium other (- -)"),
            ("obsolete call", "medium deprecation (- obsolete)"),
            ("slow query", "medium performance (- slow)"),
            ("CPU bound", "medium performance (- cpu)"),
            ("known vulnerability", "medium security (- vulnerability)"),
            ("permission denied", "medium security (- permission)"),
            ("invalid input", "medium validation (- invalid)"),
            ("required field", "medium validation (- required)"),
            ("unsupported platform", "medium compatibility (- unsupported)"),
            ("backward compatibility", "medium compatibility (- compatib)"),
            ("bad configuration", "medium configuration (- config)"),
            ("environment variable unset", "medium configuration (- environment variable)"),
            ("environment only", "medium other (- -)"),
            ("lint complaint", "medium style (- lint)"),
            ("format the file", "medium style (- format)"),
            // auth is a family of words, and author is not of it
            ("auth token", "medium security (- auth)"),
            ("auth_token", "medium security (- auth)"),
            ("authn", "medium security (- authn)"),
            ("authz", "medium security (- authz)"),
            ("authentication", "medium security (- authentic)"),
            ("authorization", "medium security (- authoriz)"),
            ("author unknown", "medium other (- -)"),
            ("authority", "medium other (- -)"),
            // precedence of categories
            ("deprecated schema with a security hole", "high security (security security)"),
            ("slow and deprecated", "medium deprecation (deprecated deprecated)"),
            ("invalid format", "medium validation (- invalid)"),
            ("Style issue", "low style (style style)"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn words_can_be_added_and_replaced() {
        let mut config = ClassifyConfig::default();
        config.severity.high.add = vec!["outage".into(), "größer als".into()];
        config.category.style.replace = Some(vec!["nit$".into()]);
        let classifier = Classifier::new(&config).unwrap();
        for (text, severity, category) in [
            ("an outage", Severity::High, Category::Other),
            ("Build failed", Severity::High, Category::Other),
            ("GRÖSSER ist anders", Severity::Medium, Category::Other),
            ("GRÖßER ALS erlaubt", Severity::High, Category::Other),
            ("lint", Severity::Medium, Category::Other),
            ("nit: spacing", Severity::Medium, Category::Style),
            ("nitty", Severity::Medium, Category::Other),
        ] {
            let classified = classifier.classify(text);
            assert_eq!((classified.severity, classified.category), (severity, category), "{text}");
        }
    }

    #[test]
    fn a_word_without_letters_is_refused() {
        let mut config = ClassifyConfig::default();
        config.severity.low.add = vec!["$".into()];
        assert_eq!(
            Classifier::new(&config).unwrap_err().to_string(),
            "`$` is not a word to look for: it begins with no letter or digit"
        );
    }

    #[test]
    fn stronger_layers_replace_or_add() {
        let weak = ClassifyConfig {
            severity: SeverityWords {
                high: WordChange { add: vec!["a".into()], replace: None },
                ..SeverityWords::default()
            },
            ..ClassifyConfig::default()
        };
        let mut strong = ClassifyConfig::default();
        strong.severity.high.add = vec!["b".into()];
        let both = weak.clone().overlay(strong.clone());
        assert_eq!(both.severity.high.add, ["a", "b"]);
        strong.severity.high.replace = Some(vec!["c".into()]);
        let replaced = weak.overlay(strong);
        assert_eq!(replaced.severity.high.replace.as_deref(), Some(&["c".to_owned()][..]));
        assert_eq!(replaced.severity.high.add, ["b"]);
    }
}
