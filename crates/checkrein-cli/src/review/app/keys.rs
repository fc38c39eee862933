//! What each key does. The table in `docs/review.md` and the help on the screen say the same.

use checkrein_core::checkpoint::Verdict;
use checkrein_core::run::job::{FileMark, NewComment};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::content::Which;
use super::super::input::Input;
use super::super::view;
use super::{App, Ask, Confirm, Entry, Mode, Pane, Purpose};

/// Keys and what they do, for the help.
pub const HELP: &[(&str, &str)] = &[
    ("j k ↓ ↑", "next, previous line or entry"),
    ("PgDn PgUp", "a page on, a page back"),
    ("g G", "first, last"),
    ("Tab h l", "the other pane; left, right"),
    ("n p", "next, previous file"),
    ("] [", "next, previous hunk, thread or section"),
    ("d", "all changes, or those since the last round"),
    ("c", "comment: on the line, the file, or the whole"),
    ("R", "reply to the thread"),
    ("m", "mark the file: approved, changes requested, none"),
    ("a r x", "approve, request changes, reject"),
    ("u", "look again: somebody may have pushed or commented"),
    ("? q", "this help; leave"),
];

impl App {
    pub fn key(&mut self, key: KeyEvent) -> Ask {
        self.said = None;
        // Whoever writes and wants out keeps what was written.
        let interrupts = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
        let key = if interrupts { KeyEvent::from(KeyCode::Esc) } else { key };
        match std::mem::replace(&mut self.mode, Mode::Browse) {
            Mode::Browse => self.browse(key),
            Mode::Help | Mode::Notice(_) => Ask::Nothing,
            Mode::Write { purpose, input } => self.write(key, purpose, input),
            Mode::Confirm(confirm) => self.confirm(key, confirm),
        }
    }

    pub fn paste(&mut self, text: &str) {
        if let Mode::Write { input, .. } = &mut self.mode {
            input.paste(text);
        }
    }

    fn browse(&mut self, key: KeyEvent) -> Ask {
        let page = isize::try_from(view::content_size(self).1.saturating_sub(1)).unwrap_or(1).max(1);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Ask::Leave,
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Tab => {
                self.pane = if self.pane == Pane::List { Pane::Content } else { Pane::List };
            }
            KeyCode::Char('h') | KeyCode::Left => self.pane = Pane::List,
            KeyCode::Char('l') | KeyCode::Right | KeyCode::Enter => self.pane = Pane::Content,
            KeyCode::Char('j') | KeyCode::Down => self.step(1),
            KeyCode::Char('k') | KeyCode::Up => self.step(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll(page),
            KeyCode::PageUp => self.scroll(-page),
            KeyCode::Char('g') | KeyCode::Home => self.step(isize::MIN),
            KeyCode::Char('G') | KeyCode::End => self.step(isize::MAX),
            KeyCode::Char('n') => self.next_file(),
            KeyCode::Char('p') => self.previous_file(),
            KeyCode::Char(']') => self.next_stop(),
            KeyCode::Char('[') => self.previous_stop(),
            KeyCode::Char('d') => self.other_diff(),
            KeyCode::Char('u') => return Ask::Reload,
            KeyCode::Char('c' | 'R' | 'm' | 'a' | 'r' | 'x') if !self.review.open => {
                self.said = Some(format!("this review is {}", self.review.status));
            }
            KeyCode::Char('c') => self.begin(self.comment_here()),
            KeyCode::Char('R') => match self.rows.get(self.cursor).and_then(|row| row.thread.clone()) {
                Some(to) => self.begin(Purpose::Reply { to }),
                None => self.said = Some("no thread here; `]` goes to the next one".to_owned()),
            },
            KeyCode::Char('m') => return self.mark(),
            KeyCode::Char('a') => self.ask(Verdict::Approve, String::new()),
            KeyCode::Char('r') => self.begin(Purpose::RequestChanges),
            KeyCode::Char('x') => self.begin(Purpose::Reject),
            _ => {}
        }
        Ask::Nothing
    }

    fn step(&mut self, by: isize) {
        match self.pane {
            Pane::Content => self.scroll(by),
            Pane::List => {
                let last = self.entries.len().saturating_sub(1);
                self.look(self.entry.saturating_add_signed(by).min(last));
            }
        }
    }

    fn scroll(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.rows.len().saturating_sub(1));
        self.show_cursor();
    }

    fn next_file(&mut self) {
        let files = self.entries.iter().enumerate().skip(self.entry + 1);
        match files.into_iter().find(|(_, entry)| matches!(entry, Entry::File(_))).map(|(index, _)| index) {
            Some(index) => self.look(index),
            None => self.said = Some("this is the last file".to_owned()),
        }
    }

    fn previous_file(&mut self) {
        let files = self.entries.iter().enumerate().take(self.entry);
        match files.filter(|(_, entry)| matches!(entry, Entry::File(_))).map(|(index, _)| index).next_back() {
            Some(index) => self.look(index),
            None => self.said = Some("there is no file before".to_owned()),
        }
    }

    fn next_stop(&mut self) {
        let next = self.rows.iter().enumerate().skip(self.cursor + 1).find(|(_, row)| row.stop);
        self.stop_at(next.map(|(index, _)| index), "nothing more below; `n` is the next file");
    }

    fn previous_stop(&mut self) {
        let before = self.rows.iter().enumerate().take(self.cursor).rev().find(|(_, row)| row.stop);
        self.stop_at(before.map(|(index, _)| index), "nothing more above; `p` is the file before");
    }

    fn stop_at(&mut self, row: Option<usize>, otherwise: &str) {
        match row {
            Some(row) => {
                self.pane = Pane::Content;
                self.cursor = row;
                self.show_cursor();
            }
            None => self.said = Some(otherwise.to_owned()),
        }
    }

    fn other_diff(&mut self) {
        if self.review.since.is_none() {
            self.said = Some("there was no round before".to_owned());
            return;
        }
        match self.which {
            Which::Whole => self.switch(Which::SinceLastRound),
            Which::SinceLastRound => self.switch(Which::Whole),
        }
    }

    /// On the line under the cursor, on the file, or on the whole.
    fn comment_here(&self) -> Purpose {
        let file = self.file().map(|file| file.path.clone());
        let line = self.rows.get(self.cursor).filter(|_| self.pane == Pane::Content).and_then(|row| row.line);
        Purpose::Comment { line: line.filter(|_| file.is_some()), file }
    }

    fn mark(&mut self) -> Ask {
        let Some(file) = self.file() else {
            self.said = Some("only a file can be marked".to_owned());
            return Ask::Nothing;
        };
        let mark = match file.mark {
            None => Some(FileMark::Approved),
            Some(FileMark::Approved) => Some(FileMark::ChangesRequested),
            Some(FileMark::ChangesRequested) => None,
        };
        Ask::Mark { file: file.path.clone(), mark }
    }

    /// Takes up what was written for the same purpose before.
    fn begin(&mut self, purpose: Purpose) {
        let draft = self.draft.take_if(|(before, _)| *before == purpose);
        self.mode = Mode::Write { purpose, input: draft.map(|(_, input)| input).unwrap_or_default() };
    }

    fn write(&mut self, key: KeyEvent, purpose: Purpose, mut input: Input) -> Ask {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let sends = (control && key.code == KeyCode::Char('s')) || (alt && key.code == KeyCode::Enter);
        if key.code == KeyCode::Esc {
            if !input.text().is_empty() {
                self.said = Some("kept; the same key takes it up again".to_owned());
                self.draft = Some((purpose, input));
            }
            return Ask::Nothing;
        }
        if !sends {
            input.key(key);
            self.mode = Mode::Write { purpose, input };
            return Ask::Nothing;
        }
        let mut text = input.text();
        if text.is_empty() && purpose == Purpose::RequestChanges && self.review.waiting > 0 {
            "see the comments".clone_into(&mut text);
        }
        if text.is_empty() {
            self.said = Some("there is nothing to send yet".to_owned());
            self.mode = Mode::Write { purpose, input };
            return Ask::Nothing;
        }
        // Until the engine has it, it may be needed again.
        self.draft = Some((purpose.clone(), input));
        let comment = |file, line, reply_to| NewComment {
            file,
            line,
            text: text.clone(),
            reply_to,
            key: None,
            origin: None,
        };
        match purpose {
            Purpose::Comment { file, line } => Ask::Comment(comment(file, line, None)),
            Purpose::Reply { to } => Ask::Comment(comment(None, None, Some(to))),
            Purpose::RequestChanges => {
                self.ask(Verdict::RequestChanges, text);
                Ask::Nothing
            }
            Purpose::Reject => {
                self.ask(Verdict::Reject, text);
                Ask::Nothing
            }
        }
    }

    fn ask(&mut self, verdict: Verdict, text: String) {
        self.mode = Mode::Confirm(Confirm { verdict, text, start_over: false, again: false });
    }

    fn confirm(&mut self, key: KeyEvent, confirm: Confirm) -> Ask {
        let doubted = confirm.verdict == Verdict::Approve && !self.review.doubts().is_empty();
        match key.code {
            KeyCode::Char('y') if doubted && !confirm.again => {
                self.mode = Mode::Confirm(Confirm { again: true, ..confirm });
                Ask::Nothing
            }
            KeyCode::Char('y') => Ask::Verdict(Box::new(self.verdict(&confirm))),
            KeyCode::Char('S' | 's') if confirm.verdict == Verdict::RequestChanges => {
                self.mode = Mode::Confirm(Confirm { start_over: !confirm.start_over, ..confirm });
                Ask::Nothing
            }
            KeyCode::Char('n' | 'q') | KeyCode::Esc => {
                match confirm.verdict {
                    Verdict::Approve => {}
                    Verdict::RequestChanges => self.begin(Purpose::RequestChanges),
                    Verdict::Reject => self.begin(Purpose::Reject),
                }
                Ask::Nothing
            }
            _ => {
                self.mode = Mode::Confirm(confirm);
                Ask::Nothing
            }
        }
    }

    /// The engine has what was written.
    pub fn sent(&mut self) {
        self.draft = None;
    }
}
