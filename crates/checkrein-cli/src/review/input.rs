//! A text of several lines, as a person types it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

#[derive(Clone, Debug, Default)]
pub struct Input {
    lines: Vec<String>,
    row: usize,
    /// In characters.
    column: usize,
}

/// Characters up to the cursor, or from it on.
enum Part {
    Before,
    Behind,
}

impl Input {
    pub fn text(&self) -> String {
        self.lines.join("\n").trim().to_owned()
    }

    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Where the next character goes: row and column.
    pub fn cursor(&self) -> (usize, usize) {
        (self.row, self.column)
    }

    pub fn paste(&mut self, text: &str) {
        for c in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            if c == '\n' { self.split() } else { self.insert(c) }
        }
    }

    /// Whatever it does not know is nothing.
    pub fn key(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('a') if control => self.column = 0,
            KeyCode::Char('e') if control => self.column = self.width(self.row),
            KeyCode::Char('u') if control => self.cut(Part::Before),
            KeyCode::Char('k') if control => self.cut(Part::Behind),
            KeyCode::Char(_) if control => {}
            KeyCode::Char(c) => self.insert(c),
            KeyCode::Tab => self.insert('\t'),
            KeyCode::Enter => self.split(),
            KeyCode::Backspace => self.erase(),
            KeyCode::Delete => self.erase_behind(),
            KeyCode::Left => self.left(),
            KeyCode::Right => drop(self.right()),
            KeyCode::Up => self.go_to_row(self.row.saturating_sub(1)),
            KeyCode::Down => self.go_to_row((self.row + 1).min(self.lines.len().saturating_sub(1))),
            KeyCode::Home => self.column = 0,
            KeyCode::End => self.column = self.width(self.row),
            _ => {}
        }
    }

    /// Changes the line with the cursor; the byte of the cursor comes with it.
    fn edit(&mut self, change: impl FnOnce(&mut String, usize)) {
        if self.lines.is_empty() {
            self.lines.push(String::new());
        }
        if let Some(line) = self.lines.get_mut(self.row) {
            let at = byte(line, self.column);
            change(line, at);
        }
    }

    fn width(&self, row: usize) -> usize {
        self.lines.get(row).map_or(0, |line| line.chars().count())
    }

    fn insert(&mut self, c: char) {
        self.edit(|line, at| line.insert(at, c));
        self.column += 1;
    }

    fn split(&mut self) {
        let mut after = String::new();
        self.edit(|line, at| after = line.split_off(at));
        self.row += 1;
        self.column = 0;
        self.lines.insert(self.row, after);
    }

    fn erase(&mut self) {
        if let Some(column) = self.column.checked_sub(1) {
            self.column = column;
            self.edit(|line, at| {
                line.remove(at);
            });
        } else if let Some(above) = self.row.checked_sub(1) {
            let gone = self.lines.remove(self.row);
            self.row = above;
            self.column = self.width(above);
            self.edit(|line, _| line.push_str(&gone));
        }
    }

    fn erase_behind(&mut self) {
        if self.right() {
            self.erase();
        }
    }

    fn left(&mut self) {
        match self.column.checked_sub(1) {
            Some(column) => self.column = column,
            None if self.row > 0 => {
                self.row -= 1;
                self.column = self.width(self.row);
            }
            None => {}
        }
    }

    /// Whether there was anywhere to go.
    fn right(&mut self) -> bool {
        if self.column < self.width(self.row) {
            self.column += 1;
        } else if self.row + 1 < self.lines.len() {
            self.row += 1;
            self.column = 0;
        } else {
            return false;
        }
        true
    }

    fn go_to_row(&mut self, row: usize) {
        self.row = row;
        self.column = self.column.min(self.width(row));
    }

    fn cut(&mut self, part: Part) {
        match part {
            Part::Before => {
                self.edit(|line, at| drop(line.drain(..at)));
                self.column = 0;
            }
            Part::Behind => self.edit(|line, at| line.truncate(at)),
        }
    }
}

/// Where a character begins.
fn byte(line: &str, column: usize) -> usize {
    line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types a text in which `<` `>` `^` `v` are arrows, `#` is backspace, `%` delete, `/` a new line, `{` and
    /// `}` take away what is before and behind.
    fn typed(keys: &str) -> String {
        let mut input = Input::default();
        for c in keys.chars() {
            let (code, modifiers) = match c {
                '<' => (KeyCode::Left, KeyModifiers::NONE),
                '>' => (KeyCode::Right, KeyModifiers::NONE),
                '^' => (KeyCode::Up, KeyModifiers::NONE),
                'v' => (KeyCode::Down, KeyModifiers::NONE),
                '#' => (KeyCode::Backspace, KeyModifiers::NONE),
                '%' => (KeyCode::Delete, KeyModifiers::NONE),
                '/' => (KeyCode::Enter, KeyModifiers::NONE),
                '{' => (KeyCode::Char('u'), KeyModifiers::CONTROL),
                '}' => (KeyCode::Char('k'), KeyModifiers::CONTROL),
                c => (KeyCode::Char(c), KeyModifiers::NONE),
            };
            input.key(KeyEvent::new(code, modifiers));
        }
        input.text().replace('\n', "/")
    }

    #[test]
    fn keys_edit_the_text() {
        for (keys, expected) in [
            ("abc", "abc"),
            ("ac<b", "abc"),
            ("aä<#", "ä"),
            ("ab/cd", "ab/cd"),
            ("ab/cd<<#", "abcd"),
            ("ab<<%", "b"),
            ("ab^<<<%", "b"),
            ("ab/cd^}x", "abx/cd"),
            ("ab/cd^%", "abcd"),
            ("abc<{", "c"),
            ("#%<>^v", ""),
            ("abc/d^x", "axbc/d"),
        ] {
            assert_eq!(typed(keys), expected, "{keys}");
        }
    }

    #[test]
    fn a_paste_keeps_its_lines() {
        let mut input = Input::default();
        input.paste("one\r\ntwo\rthree\n");
        assert_eq!(input.text(), "one\ntwo\nthree");
    }
}
