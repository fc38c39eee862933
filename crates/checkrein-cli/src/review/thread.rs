//! Comments as threads, harmless to a terminal.

use checkrein_server::wire::review as wire;

use super::model::clean;
use crate::output::one_line;

/// A comment and what was answered.
pub struct Thread {
    /// Of the first comment: what a reply names.
    pub id: String,
    pub file: Option<String>,
    /// Where it stands in the file as it is now.
    pub line: Option<u32>,
    /// Whether that line is another one than it was about.
    pub changed: bool,
    /// Where it stood, if that place is gone or cannot be told any more.
    pub was_at: Option<u32>,
    /// The phase it was made in, if that is another one.
    pub phase: Option<String>,
    pub round: u32,
    pub comments: Vec<CommentShown>,
}

impl Thread {
    /// Whether it is about this file as it is in this review.
    pub fn is_of(&self, path: &str) -> bool {
        self.phase.is_none() && self.file.as_deref() == Some(path)
    }
}

pub struct CommentShown {
    pub id: String,
    pub by: String,
    pub from_agent: bool,
    pub text: String,
}

pub fn thread(told: &wire::Thread, comments: &[wire::Comment]) -> Thread {
    let said = told.comments.iter().filter_map(|id| comments.iter().find(|comment| comment.id == *id));
    Thread {
        id: one_line(&told.id),
        file: told.file.clone(),
        line: told.line,
        changed: told.line_changed,
        was_at: told.was_at,
        phase: told.phase.as_deref().map(one_line),
        round: told.round,
        comments: said.map(comment).collect(),
    }
}

fn comment(told: &wire::Comment) -> CommentShown {
    CommentShown {
        id: one_line(&told.id),
        by: one_line(&told.by),
        from_agent: told.from_agent,
        text: clean(&told.text),
    }
}
