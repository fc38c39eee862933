//! What a command hands back: data for stdout, and how it went.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::error::{CliError, Exit};
use crate::pager;

pub use checkrein_core::shown::{count, harmless, one_line};

pub const HEADING: Style = Style::new().bold();
pub const FAINT: Style = Style::new().dimmed();

#[derive(Debug)]
pub struct Output {
    text: String,
    exit: Exit,
    /// Whether a person at a terminal reads it page by page.
    long: bool,
}

impl Output {
    pub fn text(text: impl Into<String>) -> Output {
        Output { text: text.into(), exit: Exit::Done, long: false }
    }

    /// One JSON document, for programs.
    pub fn json(value: &impl serde::Serialize) -> Result<Output, CliError> {
        let mut text = serde_json::to_string_pretty(value)
            .map_err(|error| CliError::failed(format!("the answer cannot be written as JSON: {error}")))?;
        text.push('\n');
        Ok(Output::text(text))
    }

    /// Text that may be longer than a screen.
    pub fn paged(text: String) -> Output {
        Output { long: true, ..Output::text(text) }
    }

    /// Without a pager, however long it is.
    pub fn at_once(self) -> Output {
        Output { long: false, ..self }
    }

    /// Writes it to a file as a whole, and says so.
    pub fn write_to(self, path: &std::path::Path) -> Result<Output, CliError> {
        let shown = crate::files::shown(path);
        std::fs::write(path, &self.text)
            .map_err(|error| CliError::failed(format!("`{shown}` cannot be written: {error}")))?;
        Ok(Output { text: String::new(), ..self })
    }

    pub fn exit(self, exit: Exit) -> Output {
        Output { exit, ..self }
    }

    /// Shows it now, where more is to come.
    pub fn show(&self) -> Result<(), CliError> {
        let mut stdout = anstream::stdout().lock();
        let shown = stdout.write_all(self.text.as_bytes()).and_then(|()| stdout.flush());
        shown.map_err(|error| CliError::failed(format!("stdout cannot be written: {error}")))
    }

    /// A reader that closed the pipe has had enough; that is no failure.
    pub fn print(self) -> ExitCode {
        if self.long && pager::show(&self.text) {
            return self.exit.into();
        }
        let mut stdout = anstream::stdout().lock();
        match stdout.write_all(self.text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => self.exit.into(),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.exit.into(),
            Err(error) => CliError::failed(format!("stdout cannot be written: {error}")).report(),
        }
    }
}

/// `1 warning, 0 errors`.
pub fn findings(warnings: u64, errors: u64) -> String {
    format!("{}, {}", count(warnings, "warning"), count(errors, "error"))
}

/// A word as a shell takes it: what an agent named must not do more than name when a person pastes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Rows under a heading, columns as wide as they need to be; a cell may have several lines.
pub struct Table {
    heading: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(heading: &[&'static str]) -> Table {
        Table { heading: heading.to_vec(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| harmless(cell)).collect());
    }

    pub fn render(&self) -> String {
        let width = |column: usize| {
            let heading = self.heading.get(column).map_or(0, |text| text.width());
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.flat_map(|cell| cell.lines()).map(UnicodeWidthStr::width).fold(heading, usize::max)
        };
        let widths: Vec<usize> = (0..self.heading.len()).map(width).collect();
        let line = |cells: &[&str], style: &dyn Fn(usize) -> Style| {
            let mut out = String::new();
            let shown = cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
            for (column, (cell, width)) in cells.iter().zip(&widths).take(shown).enumerate() {
                let style = style(column);
                let padding = if column + 1 == shown { 0 } else { width.saturating_sub(cell.width()) + 2 };
                out.push_str(&format!("{style}{cell}{style:#}{}", " ".repeat(padding)));
            }
            out.push('\n');
            out
        };
        let mut out = line(&self.heading, &|_| HEADING);
        for row in &self.rows {
            let height = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(0);
            for index in 0..height {
                let cells: Vec<&str> = row.iter().map(|cell| cell.lines().nth(index).unwrap_or("")).collect();
                let last = cells.len().saturating_sub(1);
                out.push_str(&line(&cells, &|column| if column == last { FAINT } else { Style::new() }));
            }
        }
        out
    }
}
