//! A finding: one warning or error in a response.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    #[serde(skip)]
    pub kind: FindingKind,
    pub text: String,
    pub severity: Severity,
    #[schemars(with = "String")]
    pub category: Category,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub suggested_fix: Option<Fix>,
    /// What the response said where it was not a severity; `severity` is then medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_severity: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    #[default]
    Warning,
    Error,
}

impl FindingKind {
    /// As it is counted: `warnings`, `errors`.
    pub const fn plural(self) -> &'static str {
        match self {
            FindingKind::Warning => "warnings",
            FindingKind::Error => "errors",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FindingKind::Warning => "Warning",
            FindingKind::Error => "Error",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Low,
    Medium,
    High,
}

impl Severity {
    pub const ALL: [Severity; 3] = [Severity::Low, Severity::Medium, Severity::High];

    /// What an unknown severity ranks as, and a text without a telling word (W9, W13).
    pub const DEFAULT: Severity = Severity::Medium;

    pub const fn name(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
        }
    }

    /// Agents write in every case; the word counts.
    pub fn parse(word: &str) -> Option<Severity> {
        Severity::ALL.into_iter().find(|severity| word.trim().eq_ignore_ascii_case(severity.name()))
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a finding is about, in order of precedence when a text speaks of several (W13).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    Security,
    Deprecation,
    Performance,
    Validation,
    Compatibility,
    Configuration,
    Style,
    Other,
    /// A category of the response's own; it sorts after `other` (X15).
    Own(String),
}

impl Category {
    /// The standard ones in order of precedence.
    pub const STANDARD: [Category; 8] = [
        Category::Security,
        Category::Deprecation,
        Category::Performance,
        Category::Validation,
        Category::Compatibility,
        Category::Configuration,
        Category::Style,
        Category::Other,
    ];

    pub fn name(&self) -> &str {
        match self {
            Category::Security => "security",
            Category::Deprecation => "deprecation",
            Category::Performance => "performance",
            Category::Validation => "validation",
            Category::Compatibility => "compatibility",
            Category::Configuration => "configuration",
            Category::Style => "style",
            Category::Other => "other",
            Category::Own(name) => name,
        }
    }

    /// Any word is a category; the standard ones are recognised in every case.
    pub fn parse(word: &str) -> Category {
        let word = word.trim();
        let standard = Category::STANDARD.into_iter().find(|known| word.eq_ignore_ascii_case(known.name()));
        standard.unwrap_or_else(|| Category::Own(word.to_owned()))
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Category {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Category {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Category, D::Error> {
        String::deserialize(deserializer).map(|word| Category::parse(&word))
    }
}

/// How to mend a finding: in words, and where there is one, the command to run or the file to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    pub description: String,
    pub command: Option<String>,
    pub file: Option<String>,
}

impl Serialize for Fix {
    /// A fix that is only words is written as the words.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        if self.command.is_none() && self.file.is_none() {
            return serializer.serialize_str(&self.description);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("description", &self.description)?;
        if let Some(command) = &self.command {
            map.serialize_entry("command", command)?;
        }
        if let Some(file) = &self.file {
            map.serialize_entry("file", file)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Fix {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Fix, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Words(String),
            Whole {
                description: String,
                #[serde(default)]
                command: Option<String>,
                #[serde(default)]
                file: Option<String>,
            },
        }
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Words(description) => Fix { description, command: None, file: None },
            Stored::Whole { description, command, file } => Fix { description, command, file },
        })
    }
}
