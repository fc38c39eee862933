//! Comments as threads, harmless to a terminal.

use checkrein_core::run::job::Comment;
use checkrein_engine::Reviewed;
use checkrein_forge::Diff;

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

pub fn threads(reviewed: &Reviewed, since: Option<&Diff>) -> Vec<Thread> {
    let shown = |thread: checkrein_engine::Thread| Thread {
        id: thread.id,
        file: thread.file,
        line: thread.line,
        changed: thread.changed,
        was_at: thread.was_at,
        phase: thread.phase.as_deref().map(one_line),
        round: thread.round,
        comments: thread.comments.iter().map(comment).collect(),
    };
    checkrein_engine::threads(reviewed, since).into_iter().map(shown).collect()
}

fn comment(comment: &Comment) -> CommentShown {
    CommentShown {
        id: one_line(&comment.id),
        by: one_line(&comment.by),
        from_agent: comment.from_agent,
        text: clean(&comment.text),
    }
}
