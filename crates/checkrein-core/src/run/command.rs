//! What can be asked of a run.

use std::fmt;

use jiff::Timestamp;

use super::RemedyChosen;
use crate::checkpoint::Verdict;
use crate::response::Response;

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Start,
    /// The attempt under way has ended.
    Finish(Finished),
    /// The attempt under way is gone without a result, and so are its processes.
    Lose {
        start: u64,
    },
    /// A person's verdict on the hold.
    Answer {
        /// Which hold, counted from 1.
        hold: u32,
        verdict: Verdict,
        by: String,
        reason: Option<String>,
    },
    /// The attempt under way was ended to go on later.
    Pause {
        by: String,
    },
    Resume {
        by: String,
    },
    Cancel {
        by: String,
        reason: Option<String>,
    },
    /// Remembers what a person did about a proposed fix, whatever the run is doing.
    Remedy(RemedyChosen),
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Which start of an attempt it answers: an answer to another one is stale.
    pub start: u64,
    /// What it returned, oldest first, each with an id of its own; the last one is judged (X6).
    pub responses: Vec<(String, Response)>,
    pub started_at: Timestamp,
    pub duration_ms: u64,
    pub exit_code: Option<i32>,
    /// Where its output is kept.
    pub output: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    Start,
    Finish,
    Lose,
    Answer,
    Pause,
    Resume,
    Cancel,
    Remedy,
}

impl Command {
    pub const fn kind(&self) -> CommandKind {
        match self {
            Command::Start => CommandKind::Start,
            Command::Finish(_) => CommandKind::Finish,
            Command::Lose { .. } => CommandKind::Lose,
            Command::Answer { .. } => CommandKind::Answer,
            Command::Pause { .. } => CommandKind::Pause,
            Command::Resume { .. } => CommandKind::Resume,
            Command::Cancel { .. } => CommandKind::Cancel,
            Command::Remedy(_) => CommandKind::Remedy,
        }
    }
}

impl CommandKind {
    /// What a run has had done to it.
    pub const fn done(self) -> &'static str {
        match self {
            CommandKind::Start => "started",
            CommandKind::Finish => "finished",
            CommandKind::Lose => "lost",
            CommandKind::Answer => "answered",
            CommandKind::Pause => "paused",
            CommandKind::Resume => "resumed",
            CommandKind::Cancel => "cancelled",
            CommandKind::Remedy => "mended",
        }
    }
}

impl fmt::Display for CommandKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CommandKind::Start => "start",
            CommandKind::Finish => "finish",
            CommandKind::Lose => "lose",
            CommandKind::Answer => "answer",
            CommandKind::Pause => "pause",
            CommandKind::Resume => "resume",
            CommandKind::Cancel => "cancel",
            CommandKind::Remedy => "take a remedy",
        })
    }
}
