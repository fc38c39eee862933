//! What can be asked of a run.

use std::fmt;

use jiff::Timestamp;

use super::RemedyChosen;
use super::job::{Author, Conflict, FileChange, FileMark, ForgeNews, Landed, NewComment, Spent, Todo, Work};
use crate::checkpoint::Verdict;
use crate::policy::Policy;
use crate::response::Response;

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Start,
    /// Begins the next attempt of a job, or of a step that requires something, where whoever begins it has that.
    Begin,
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
        /// On a new branch instead of the one that was looked at (L4).
        start_over: bool,
    },
    /// The phase of a job is merged.
    Land(Landed),
    /// The phase of a job cannot be merged.
    Conflict(Conflict),
    /// The rules of the forge forbid to merge the phase of a job, and it takes a person to change that.
    Bar {
        text: String,
    },
    /// Somebody pushed to the branch under review.
    Push {
        hold: u32,
        head: String,
        files: Vec<FileChange>,
        files_total: usize,
        next_todos: Option<Vec<Todo>>,
        /// What still does not fit the branch it is to be merged into.
        conflict: Option<Conflict>,
        /// Approved files that are not what was approved any more.
        lapsed: Vec<String>,
    },
    /// A comment on the review of a job.
    Comment {
        comment: NewComment,
        by: String,
        author: Author,
    },
    /// What a person thinks of one file; none takes it back.
    Mark {
        file: String,
        mark: Option<FileMark>,
        by: String,
        /// What the file is, which the mark is about.
        content: Option<String>,
    },
    /// Says that a thread is settled, or that it is not.
    Resolve {
        comment: String,
        resolved: bool,
        by: String,
    },
    /// How far the agent of a job may go, from its next boundary on.
    ChangePolicy {
        policy: Box<Policy>,
        by: String,
    },
    /// What the attempt under way has used, of which there will be no result.
    Spend {
        start: u64,
        used: Spent,
    },
    /// The attempt under way was ended to go on later.
    Pause {
        by: String,
    },
    /// The agent of a step cannot work: its key is missing, or its model is away. The step is made again on resume.
    Stall {
        start: u64,
        reason: String,
        /// Whether it passes by itself, so that it is tried again by itself.
        outage: bool,
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
    /// Remembers what was learnt of the forge of a job, whatever it is doing.
    Forge(ForgeNews),
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
    /// What a job's agent left.
    pub work: Option<Box<Work>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    Start,
    Begin,
    Finish,
    Lose,
    Answer,
    Land,
    Conflict,
    Push,
    Pause,
    Resume,
    Cancel,
    /// A comment, a mark, another policy.
    Say,
    Remedy,
    Forge,
}

impl Command {
    pub const fn kind(&self) -> CommandKind {
        match self {
            Command::Start => CommandKind::Start,
            Command::Begin => CommandKind::Begin,
            Command::Land(_) => CommandKind::Land,
            Command::Conflict(_) | Command::Bar { .. } => CommandKind::Conflict,
            Command::Push { .. } => CommandKind::Push,
            Command::Comment { .. }
            | Command::Mark { .. }
            | Command::Resolve { .. }
            | Command::ChangePolicy { .. }
            | Command::Spend { .. } => CommandKind::Say,
            Command::Finish(_) => CommandKind::Finish,
            Command::Lose { .. } => CommandKind::Lose,
            Command::Answer { .. } => CommandKind::Answer,
            Command::Pause { .. } | Command::Stall { .. } => CommandKind::Pause,
            Command::Resume { .. } => CommandKind::Resume,
            Command::Cancel { .. } => CommandKind::Cancel,
            Command::Remedy(_) => CommandKind::Remedy,
            Command::Forge(_) => CommandKind::Forge,
        }
    }
}

impl CommandKind {
    /// What a run has had done to it.
    pub const fn done(self) -> &'static str {
        match self {
            CommandKind::Start => "started",
            CommandKind::Begin => "begun",
            CommandKind::Land => "merged",
            CommandKind::Conflict => "kept from being merged",
            CommandKind::Push => "pushed to",
            CommandKind::Say => "commented on or changed",
            CommandKind::Finish => "finished",
            CommandKind::Lose => "lost",
            CommandKind::Answer => "answered",
            CommandKind::Pause => "paused",
            CommandKind::Resume => "resumed",
            CommandKind::Cancel => "cancelled",
            CommandKind::Remedy => "mended",
            CommandKind::Forge => "told of its forge",
        }
    }
}

impl fmt::Display for CommandKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CommandKind::Start => "start",
            CommandKind::Begin => "begin",
            CommandKind::Land => "merge",
            CommandKind::Conflict => "conflict",
            CommandKind::Push => "push",
            CommandKind::Say => "say",
            CommandKind::Finish => "finish",
            CommandKind::Lose => "lose",
            CommandKind::Answer => "answer",
            CommandKind::Pause => "pause",
            CommandKind::Resume => "resume",
            CommandKind::Cancel => "cancel",
            CommandKind::Remedy => "take a remedy",
            CommandKind::Forge => "learn of the forge",
        })
    }
}
