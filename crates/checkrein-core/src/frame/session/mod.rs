//! A session: its tree of frames, the suggestions it has, what was measured, and everything that can
//! be done to it. Time is an argument, ids are made by the caller.

mod advise;
mod command;
mod moves;
mod observe;
mod undo;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::advise::SuggestionFilter;
pub use self::command::{AutoSuggest, ConfigChange, FrameCommand};
pub use self::observe::Who;
pub use self::undo::Step;
use super::config::{FrameConfig, FrameConfigPatch};
use super::context::ContextError;
use super::suggestion::{Suggestion, Suggestions};
use super::tree::{FrameTree, TreeError};

/// The frames of one agent's session, in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameSession {
    pub id: String,
    pub tree: FrameTree,
    /// Those that wait, and the latest that do not any more.
    pub suggestions: Suggestions,
    pub state: SessionState,
    /// What is to be added to the logs of frames; not part of the state.
    pub log: Vec<LogLine>,
}

/// What a session remembers beside its tree and suggestions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    /// Changes to the settings at run time; they win over files and environment until `reset` (X18).
    pub config: FrameConfigPatch,
    /// The type of the agent.
    pub agent: Option<String>,
    /// What tells us of it, such as `claude-code`.
    pub client: Option<String>,
    /// How often a person has asked for something.
    pub turns: u64,
    /// What was asked for last, if it is another goal than the current frame's.
    pub potential_goal: Option<String>,
    /// The latest moves and how to take them back, newest last.
    pub undo: Vec<Step>,
    /// Keys of events that were seen, newest last: an event may come twice.
    pub seen: Vec<String>,
    /// How far the client's own transcript was read.
    pub transcript: Option<Transcript>,
    /// Of the context that was told last, where it stays with the client.
    pub told: Option<String>,
    /// What was done without asking and is not told yet.
    pub news: Vec<String>,
}

/// How far a transcript was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Transcript {
    pub offset: u64,
    /// The message that was counted last; it may go on in the next line.
    pub message: Option<String>,
}

/// One entry of a frame's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub frame: String,
    pub text: String,
}

/// What a session is told of the world when something is done to it.
pub struct Around<'a> {
    /// The settings in force without the session's own.
    pub settings: &'a FrameConfig,
    pub now_ms: u64,
    /// Makes an id nobody has.
    pub make_id: &'a dyn Fn() -> String,
    /// Where the log of a frame lies.
    pub log_path: &'a dyn Fn(&str) -> String,
    /// Every suggestion ever made, for what looks back; empty for what does not.
    pub history: Vec<Suggestion>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error(transparent)]
    Context(#[from] ContextError),
    #[error("there is no suggestion `{0}`")]
    NoSuggestion(String),
    #[error("suggestion `{0}` does not wait any more")]
    NotPending(String),
    #[error("there is nothing to undo")]
    NothingToUndo,
    #[error("no frame waits to be resumed")]
    NothingToResume,
    #[error("`{0}` is empty")]
    Empty(&'static str),
    #[error("`{what}` is longer than {max} characters")]
    TooLong { what: &'static str, max: usize },
    #[error("a session has {0} frames at most")]
    TooMany(usize),
    #[error("there is no heuristic `{name}`; there are {known}")]
    UnknownHeuristic { name: String, known: String },
    #[error("{0}")]
    BadConfig(String),
}

/// Nobody reads a longer goal; a summary may say more.
pub const GOAL_CHARS_MAX: usize = 2_000;
pub const SUMMARY_CHARS_MAX: usize = 20_000;
/// A session that has more is not one.
pub const FRAMES_MAX: usize = 100_000;
/// An event is known again for so many events.
const SEEN_MAX: usize = 512;
const NEWS_MAX: usize = 20;

/// Whose advice and settings are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Somebody asked for it.
    Asked,
    /// Level `auto` did it.
    Auto,
}

impl FrameSession {
    pub fn new(id: impl Into<String>) -> FrameSession {
        FrameSession { id: id.into(), ..FrameSession::default() }
    }

    /// The settings in force: an agent type's own thresholds win over the general ones, the
    /// session's changes over both.
    pub fn config(&self, settings: &FrameConfig) -> FrameConfig {
        let agent =
            self.tree.current().and_then(|frame| frame.agent.clone()).or_else(|| self.state.agent.clone());
        let mut config = settings.clone();
        // What cannot be used was named when it was set.
        let _ = config.apply(&self.state.config);
        let mut config = config.of_agent(agent.as_deref());
        let _ = config.apply(&self.state.config);
        config
    }

    /// Notes an event; false if it was seen before.
    pub fn notice(&mut self, key: &str) -> bool {
        if self.state.seen.iter().any(|seen| seen == key) {
            return false;
        }
        if self.state.seen.len() >= SEEN_MAX {
            self.state.seen.remove(0);
        }
        self.state.seen.push(key.to_owned());
        true
    }

    /// What was done without asking, told once.
    pub fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.state.news)
    }

    fn next_id(&self) -> Result<String, FrameError> {
        if self.tree.len() >= FRAMES_MAX {
            return Err(FrameError::TooMany(FRAMES_MAX));
        }
        // INVARIANT: frames are never removed, so a number is never used again.
        Ok(format!("f{}", self.tree.len() + 1))
    }

    fn note(&mut self, frame: &str, text: impl Into<String>) {
        self.log.push(LogLine { frame: frame.to_owned(), text: text.into() });
    }
}

fn goal(text: &str) -> Result<String, FrameError> {
    bounded("goal", text, GOAL_CHARS_MAX)
}

fn bounded(what: &'static str, text: &str, max: usize) -> Result<String, FrameError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(FrameError::Empty(what));
    }
    if text.chars().count() > max {
        return Err(FrameError::TooLong { what, max });
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
