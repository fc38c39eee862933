//! What a text speaks of.

use checkrein_core::classify;
use checkrein_core::finding::Severity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The severity and category of a text, and the words that said so; null where none did.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Classified {
    pub text: String,
    pub severity: Severity,
    pub severity_word: Option<String>,
    pub category: String,
    pub category_word: Option<String>,
}

impl Classified {
    pub fn of(text: &str, found: &classify::Classified<'_>) -> Classified {
        Classified {
            text: text.to_owned(),
            severity: found.severity,
            severity_word: found.severity_word.map(str::to_owned),
            category: found.category.name().to_owned(),
            category_word: found.category_word.map(str::to_owned),
        }
    }
}
