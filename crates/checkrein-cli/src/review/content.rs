//! What there is to read of a review, as rows: the same for text and for the screen.

mod diff;
mod overview;

pub use diff::{file, heading as file_heading};
pub use overview::{artefacts, commits, conflict, conversation, how_to_answer, overview, stat};

use super::thread::Thread;

/// Which of the two diffs is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Whole,
    SinceLastRound,
}

/// What a piece of text is, and so how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Faint,
    Heading,
    Hunk,
    Added,
    AddedWord,
    Removed,
    RemovedWord,
    Person,
    Agent,
    Warning,
}

#[derive(Clone, Debug, Default)]
pub struct Row {
    pub pieces: Vec<(Ink, String)>,
    /// Numbers of a line of a diff, before and after.
    pub numbers: Option<(Option<u32>, Option<u32>)>,
    /// The line a comment made here is about.
    pub line: Option<u32>,
    /// The thread this is part of.
    pub thread: Option<String>,
    /// How far what does not fit on a line is indented on the next.
    pub hang: usize,
    /// Whether the next hunk or thread begins here.
    pub stop: bool,
}

impl Row {
    pub fn new(ink: Ink, text: impl Into<String>) -> Row {
        Row { pieces: vec![(ink, text.into())], ..Row::default() }
    }

    pub fn blank() -> Row {
        Row::default()
    }

    fn and(mut self, ink: Ink, text: impl Into<String>) -> Row {
        self.pieces.push((ink, text.into()));
        self
    }

    fn stop(self) -> Row {
        Row { stop: true, ..self }
    }
}

/// Lines of a text, each a row.
fn lines<'t>(ink: Ink, indent: &'t str, text: &'t str) -> impl Iterator<Item = Row> + 't {
    text.lines().map(move |line| Row::new(ink, format!("{indent}{line}").trim_end()))
}

/// A thread below what it is about.
fn thread(thread: &Thread, place: Option<String>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, comment) in thread.comments.iter().enumerate() {
        let ink = if comment.from_agent { Ink::Agent } else { Ink::Person };
        let mut head = Row::new(Ink::Faint, if index == 0 { "  ┌ " } else { "  ├ " });
        head = head.and(ink, format!("{} {}", comment.id, comment.by));
        if index == 0 {
            let mut about: Vec<String> = place.clone().into_iter().collect();
            about.extend(thread.phase.clone());
            about.push(format!("round {}", thread.round));
            if thread.changed {
                about.push("changed since".to_owned());
            }
            head = head.and(Ink::Faint, format!(" · {}", about.join(" · ")));
            head = head.stop();
        }
        rows.push(head);
        rows.extend(comment.text.lines().map(|line| Row::new(Ink::Faint, "  │ ").and(Ink::Plain, line)));
    }
    rows.iter_mut().for_each(|row| row.thread = Some(thread.id.clone()));
    rows
}
