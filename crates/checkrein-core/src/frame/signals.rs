//! What was measured while somebody worked in a frame (F9).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of one frame, since work in it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Signals {
    #[serde(skip_serializing_if = "is_default")]
    pub messages: u64,
    /// Files that were changed, each once.
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub errors: u64,
    /// Errors since something went well.
    #[serde(skip_serializing_if = "is_default")]
    pub recent_errors: u64,
    /// Tokens that were spent.
    #[serde(skip_serializing_if = "is_default")]
    pub tokens: u64,
    /// Tokens in the context when it was looked at last.
    #[serde(skip_serializing_if = "is_default")]
    pub context_tokens: u64,
    /// Tokens the context can hold; 0 if unknown.
    #[serde(skip_serializing_if = "is_default")]
    pub context_limit: u64,
    /// What went well, such as "tests passing", each once.
    pub successes: Vec<String>,
    /// What went wrong since something went well.
    pub failures: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub no_progress_turns: u64,
    /// Whether this turn has made progress yet.
    #[serde(skip_serializing_if = "is_default")]
    pub progressed: bool,
}

/// More say nothing that these do not say.
const TEXTS_MAX: usize = 100;
const TEXT_CHARS_MAX: usize = 300;

/// Something that happened in a session, as any client may tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A person asked for something.
    Prompt(String),
    /// So many messages more.
    Messages(u64),
    Tool(ToolUse),
    Usage(Usage),
    /// The agent stopped to hear what is next.
    TurnEnded,
    /// A sub-agent began to work beside the current frame.
    AgentBegan {
        key: String,
        goal: String,
        agent: Option<String>,
    },
    AgentEnded {
        key: String,
        summary: Option<String>,
        failed: bool,
    },
    /// For the log alone.
    Remark(String),
}

/// A tool that was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUse {
    pub name: String,
    /// What it was used on, in a line.
    pub on: String,
    /// The files it changed.
    pub files: Vec<String>,
    pub error: Option<String>,
    /// What it shows to have gone well.
    pub success: Option<String>,
}

/// Tokens, as a client counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Since it was told last.
    pub spent: u64,
    /// In the context now; 0 if unknown.
    pub context: u64,
    /// What the context can hold; 0 if unknown.
    pub limit: u64,
}

impl Signals {
    pub fn is_empty(&self) -> bool {
        *self == Signals::default()
    }

    pub(super) fn use_tool(&mut self, tool: &ToolUse) {
        for file in &tool.files {
            add(&mut self.files, file);
        }
        if let Some(error) = &tool.error {
            self.errors = self.errors.saturating_add(1);
            self.recent_errors = self.recent_errors.saturating_add(1);
            add(&mut self.failures, &format!("{}: {error}", tool.name));
        }
        if let Some(success) = &tool.success {
            // What failed before is mended.
            self.failures.clear();
            self.recent_errors = 0;
            add(&mut self.successes, success);
        }
        self.progressed |= !tool.files.is_empty() || tool.success.is_some();
    }

    pub(super) fn spend(&mut self, usage: Usage) {
        self.tokens = self.tokens.saturating_add(usage.spent);
        if usage.context > 0 {
            self.context_tokens = usage.context;
        }
        if usage.limit > 0 {
            self.context_limit = usage.limit;
        }
    }

    pub(super) fn end_turn(&mut self) {
        self.no_progress_turns = if self.progressed { 0 } else { self.no_progress_turns.saturating_add(1) };
        self.progressed = false;
    }
}

/// The latest stay; a text that is there already is not there twice.
fn add(texts: &mut Vec<String>, text: &str) {
    let text: String = text.chars().take(TEXT_CHARS_MAX).collect();
    if texts.contains(&text) {
        return;
    }
    if texts.len() >= TEXTS_MAX {
        texts.remove(0);
    }
    texts.push(text);
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_leave_files_errors_and_successes() {
        let mut signals = Signals::default();
        let edit = ToolUse { name: "Edit".into(), files: vec!["a.rs".into()], ..Default::default() };
        signals.use_tool(&edit);
        signals.use_tool(&edit);
        let failed = ToolUse { name: "Bash".into(), error: Some("exit 1".into()), ..Default::default() };
        signals.use_tool(&failed);
        signals.use_tool(&failed);
        assert_eq!((signals.files.as_slice(), signals.errors), (&["a.rs".to_owned()][..], 2));
        assert_eq!(signals.recent_errors, 2);
        assert_eq!(signals.failures, ["Bash: exit 1"]);
        signals.use_tool(&ToolUse { success: Some("tests passing".into()), ..Default::default() });
        assert_eq!((signals.successes.len(), signals.failures.len(), signals.errors), (1, 0, 2));
        assert_eq!(signals.recent_errors, 0, "what failed before is fixed");
    }

    #[test]
    fn a_turn_without_progress_counts_until_one_with() {
        let mut signals = Signals::default();
        signals.end_turn();
        signals.end_turn();
        assert_eq!(signals.no_progress_turns, 2);
        signals.use_tool(&ToolUse { files: vec!["a".into()], ..Default::default() });
        signals.end_turn();
        assert_eq!(signals.no_progress_turns, 0);
        signals.end_turn();
        assert_eq!(signals.no_progress_turns, 1);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut signals = Signals::default();
        for number in 0..1000 {
            signals.use_tool(&ToolUse {
                files: vec![format!("{number}{}", "x".repeat(999))],
                ..Default::default()
            });
        }
        assert_eq!(signals.files.len(), TEXTS_MAX);
        assert!(signals.files.iter().all(|file| file.chars().count() == TEXT_CHARS_MAX));
    }
}
