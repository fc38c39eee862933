//! Which severity and category a text speaks of, by its words (W13, X15).
//!
//! All words of both questions are found in one pass over the text, since an agent may return
//! thousands of findings. A word counts at the start of a word: "failed" is `fail`, "information"
//! is not `format`. So the machine that knows the words is asked at the start of each word only, and
//! mostly gives up after a few letters.

use std::sync::LazyLock;

use aho_corasick::automaton::Automaton;
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, StartKind};
use schemars::JsonSchema;
use serde::Deserialize;
use smallvec::SmallVec;

use crate::finding::{Category, Severity};

/// The words that ship. `word$` matches a whole word only, so that "author" is not about `auth`.
static SEVERITY_WORDS: [(Severity, &[&str]); 3] = [
    (Severity::High, &["critical", "security", "breaking", "fail"]),
    (Severity::Medium, &["deprecated", "warning", "should", "consider"]),
    (Severity::Low, &["style", "minor", "optional", "info"]),
];

static CATEGORY_WORDS: [(Category, &[&str]); 7] = [
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
    automaton: Option<DFA>,
    words: Vec<Word>,
    /// The bytes of the shortest head: before that many nothing can be found.
    head_len_min: usize,
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
        let automaton = DFA::builder()
            .ascii_case_insensitive(true)
            .start_kind(StartKind::Anchored)
            .build(&heads)
            .map_err(|error| ClassifyError::TooMany { reason: error.to_string() })?;
        let head_len_min = heads.iter().map(String::len).min().unwrap_or(0);
        Ok(Classifier { automaton: Some(automaton), words, head_len_min, folds })
    }

    pub fn classify(&self, text: &str) -> Classified<'_> {
        if self.folds && !text.is_ascii() { self.scan(&text.to_lowercase()) } else { self.scan(text) }
    }

    fn scan(&self, text: &str) -> Classified<'_> {
        let mut severity: Option<(usize, &Word)> = None;
        let mut category: Option<(usize, &Word)> = None;
        for start in word_starts(text) {
            self.words_at(text, start, |word, end| {
                let (slot, rank) = match word.tells {
                    Tells::Severity(rank) => (&mut severity, rank),
                    Tells::Category(rank) => (&mut category, rank),
                };
                if slot.is_none_or(|(best, _)| rank < best) && word.fits(text, end) {
                    *slot = Some((rank, word));
                }
            });
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

    /// Every word whose head stands at `start`, and where the head ends.
    fn words_at<'c>(&'c self, text: &str, start: usize, mut found: impl FnMut(&'c Word, usize)) {
        let Some(automaton) = &self.automaton else { return };
        let Ok(mut state) = automaton.start_state(Anchored::Yes) else { return };
        // A dead end stays one, so it is looked for only where a word may end: a wrong guess of the
        // processor costs more than a few steps.
        let Some(rest) = text.as_bytes().get(start..) else { return };
        let Some((first, rest)) = rest.split_at_checked(self.head_len_min.saturating_sub(1)) else { return };
        for byte in first {
            state = automaton.next_state(Anchored::Yes, state, *byte);
        }
        for (index, byte) in rest.iter().enumerate() {
            state = automaton.next_state(Anchored::Yes, state, *byte);
            if automaton.is_dead(state) {
                return;
            }
            if !automaton.is_match(state) {
                continue;
            }
            let head_len = first.len() + index + 1;
            for pattern in (0..automaton.match_len(state)).map(|nth| automaton.match_pattern(state, nth)) {
                // A state also knows the words that end here but began later.
                if automaton.pattern_len(pattern) == head_len
                    && let Some(word) = self.words.get(pattern.as_usize())
                {
                    found(word, start + head_len);
                }
            }
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

/// Wherever a letter or digit follows something else, in order.
fn word_starts(text: &str) -> SmallVec<[usize; 64]> {
    let mut found = SmallVec::new();
    if !text.is_ascii() {
        let mut within = false;
        for (start, c) in text.char_indices() {
            let before = std::mem::replace(&mut within, c.is_alphanumeric());
            if within && !before {
                found.push(start);
            }
        }
        return found;
    }
    // One bit per byte: finding the starts then takes no guess of the processor per byte.
    let mut before = 0;
    for (block, bytes) in text.as_bytes().chunks(64).enumerate() {
        let within = bytes
            .iter()
            .rev()
            .fold(0, |bits, byte| bits << 1 | WORD_BYTES.get(usize::from(*byte)).copied().unwrap_or(0));
        let mut starts = within & !(within << 1 | before);
        before = within >> 63;
        while starts != 0 {
            found.push(block * 64 + starts.trailing_zeros() as usize);
            starts &= starts - 1;
        }
    }
    found
}

/// 1 for ASCII letters and digits.
static WORD_BYTES: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        #[expect(clippy::indexing_slicing, reason = "the compiler runs this")]
        {
            table[byte] = (byte as u8).is_ascii_alphanumeric() as u64;
        }
        byte += 1;
    }
    table
};

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
            // far into a text, across the blocks it is looked at in
            ("Sixty-three bytes of nothing telling, then a word at the border fail", "high other (fail -)"),
            ("Sixty-three bytes of nothing telling, then a word over the bordefail", "medium other (- -)"),
            ("— fail — security", "high security (fail security)"),
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
