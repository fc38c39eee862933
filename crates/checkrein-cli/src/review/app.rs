//! The screen as a state: what is looked at, what is being written, and what each key makes of it.

mod keys;

use checkrein_core::checkpoint::Verdict;
use checkrein_core::run::job::{FileMark, NewComment};
use checkrein_engine::{Judged, VerdictRequest};

use super::content::{self, Ink, Row, Which};
use super::input::Input;
use super::model::{FileShown, Review};
use super::view;

pub use keys::HELP;

pub struct App {
    pub review: Review,
    pub entries: Vec<Entry>,
    /// The entry that is looked at.
    pub entry: usize,
    pub pane: Pane,
    pub which: Which,
    /// What the entry shows.
    pub rows: Vec<Row>,
    pub cursor: usize,
    /// The first row on the screen.
    pub top: usize,
    pub mode: Mode,
    /// What happened last.
    pub said: Option<String>,
    pub colours: Colours,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// What was begun and left.
    draft: Option<(Purpose, Input)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Overview,
    Conflict,
    Artefacts,
    Commits,
    Conversation,
    /// By its place among the files of the diff that is shown.
    File(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    List,
    Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    On,
    Off,
}

pub enum Mode {
    Browse,
    Help,
    /// Something to be read before anything else.
    Notice(String),
    Write {
        purpose: Purpose,
        input: Input,
    },
    Confirm(Confirm),
}

/// What a text is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    Comment { file: Option<String>, line: Option<u32> },
    Reply { to: String },
    RequestChanges,
    Reject,
}

/// A verdict that is still to be said yes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirm {
    pub verdict: Verdict,
    pub text: String,
    pub start_over: bool,
    /// Asked a second time: something speaks against it.
    pub again: bool,
}

/// What a key asks the engine for.
#[derive(Clone, Debug)]
pub enum Ask {
    Nothing,
    Leave,
    Reload,
    Comment(NewComment),
    Mark { file: String, mark: Option<FileMark> },
    Verdict(Box<VerdictRequest>),
}

impl App {
    pub fn new(review: Review, colours: Colours, size: (u16, u16)) -> App {
        let mut app = App {
            review,
            entries: Vec::new(),
            entry: 0,
            pane: Pane::List,
            which: Which::Whole,
            rows: Vec::new(),
            cursor: 0,
            top: 0,
            mode: Mode::Browse,
            said: None,
            colours,
            size,
            draft: None,
        };
        app.list();
        app.look(0);
        app
    }

    /// The same place in the review as it is now.
    pub fn reload(&mut self, review: Review) {
        let file = self.file().map(|file| file.path.clone());
        let entry = self.entries.get(self.entry).cloned();
        self.review = review;
        self.list();
        let same = self.entries.iter().position(|now| match (now, &file) {
            (Entry::File(index), Some(path)) => {
                self.review.files_of(self.which).get(*index).is_some_and(|file| file.path == *path)
            }
            (Entry::File(_), None) => false,
            (now, _) => Some(now) == entry.as_ref(),
        });
        let (cursor, top) = (self.cursor, self.top);
        self.look(same.unwrap_or(0));
        if same.is_some() {
            (self.cursor, self.top) = (cursor, top);
        }
        self.settle();
    }

    pub fn resize(&mut self, size: (u16, u16)) {
        self.size = size;
        self.settle();
    }

    /// Looks at a file, where it is among those that are shown.
    pub fn go_to(&mut self, path: &str) {
        let files = self.review.files_of(self.which);
        if let Some(index) = files.iter().position(|file| file.path == path)
            && let Some(entry) = self.entries.iter().position(|entry| *entry == Entry::File(index))
        {
            self.look(entry);
            self.pane = Pane::Content;
        }
    }

    /// Shows the other diff.
    pub fn switch(&mut self, which: Which) {
        let path = self.file().map(|file| file.path.clone());
        self.which = which;
        self.list();
        let pane = self.pane;
        self.look(0);
        if let Some(path) = path {
            self.go_to(&path);
            self.pane = pane;
        }
    }

    /// The file that is looked at.
    pub fn file(&self) -> Option<&FileShown> {
        match self.entries.get(self.entry) {
            Some(Entry::File(index)) => self.review.files_of(self.which).get(*index),
            _ => None,
        }
    }

    fn list(&mut self) {
        self.entries = vec![Entry::Overview];
        if self.review.conflict.is_some() {
            self.entries.push(Entry::Conflict);
        }
        self.entries.extend([Entry::Artefacts, Entry::Commits, Entry::Conversation]);
        self.entries.extend((0..self.review.files_of(self.which).len()).map(Entry::File));
    }

    fn look(&mut self, entry: usize) {
        self.entry = entry.min(self.entries.len().saturating_sub(1));
        (self.cursor, self.top) = (0, 0);
        self.settle();
    }

    /// Brings the rows up to date, and the cursor onto the screen.
    fn settle(&mut self) {
        self.rows = self.content();
        self.cursor = self.cursor.min(self.rows.len().saturating_sub(1));
        self.show_cursor();
    }

    fn show_cursor(&mut self) {
        let (width, height) = view::content_size(self);
        let mut left = height;
        let mut first = self.cursor;
        for (index, row) in self.rows.iter().enumerate().take(self.cursor + 1).rev() {
            let Some(rest) = left.checked_sub(view::height(row, width, self.is_diff())) else { break };
            left = rest;
            first = index;
        }
        self.top = self.top.clamp(first, self.cursor.max(first));
    }

    /// Whether line numbers stand beside the rows.
    pub fn is_diff(&self) -> bool {
        matches!(self.entries.get(self.entry), Some(Entry::File(_)))
    }

    fn content(&self) -> Vec<Row> {
        let review = &self.review;
        let or = |rows: Vec<Row>, none: &str| match rows.is_empty() {
            true => vec![Row::new(Ink::Faint, none)],
            false => rows,
        };
        match self.entries.get(self.entry) {
            None | Some(Entry::Overview) => {
                let mut rows = content::overview(review);
                rows.push(Row::blank());
                rows.push(Row::new(Ink::Heading, "Files"));
                rows.extend(or(content::stat(review, self.which), "Nothing changed."));
                rows
            }
            Some(Entry::Conflict) => content::conflict(review),
            Some(Entry::Artefacts) => or(content::artefacts(review, |_| true), "There are no documents."),
            Some(Entry::Commits) => or(content::commits(review), "There are no commits."),
            Some(Entry::Conversation) => {
                or(content::conversation(review), "Nobody has said anything about the whole; `c` does.")
            }
            Some(Entry::File(_)) => {
                let Some(file) = self.file() else { return Vec::new() };
                let mut rows = vec![content::file_heading(file)];
                rows.extend(content::file(review, file));
                rows
            }
        }
    }

    fn verdict(&self, confirm: &Confirm) -> VerdictRequest {
        let reason = Some(confirm.text.clone()).filter(|text| !text.is_empty());
        VerdictRequest {
            judged: Some(Judged::Digest(self.review.digest)),
            start_over: confirm.start_over,
            confirmed: confirm.again,
            ..VerdictRequest::new(confirm.verdict, reason)
        }
    }
}
