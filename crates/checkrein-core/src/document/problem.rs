//! What is wrong with a text: which value, where, and what to do about it.

use std::fmt;

/// Whether a problem refuses the text or only deserves a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Legal, but worth saying: a deprecated level.
    Notice,
    /// Runs as ruled; `policy check` refuses it.
    Warning,
    Error,
}

/// A place in a text, both counted from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// The place of byte `offset` in `text`; past the end is the end.
    pub fn of(text: &str, offset: usize) -> Position {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        let column = before.get(line_start..).map_or(0, |rest| rest.chars().count()) + 1;
        Position { line, column }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub gravity: Gravity,
    /// The document it is in.
    pub source: String,
    pub position: Option<Position>,
    /// Where in the value tree, for example `autonomy.limits`; empty at the top.
    pub path: String,
    pub message: String,
    pub hint: Option<String>,
}

impl Problem {
    pub fn error(source: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem {
            gravity: Gravity::Error,
            source: source.into(),
            position: None,
            path: String::new(),
            message: message.into(),
            hint: None,
        }
    }

    pub fn at(mut self, position: Option<Position>) -> Problem {
        self.position = position;
        self
    }

    pub fn path(mut self, path: impl Into<String>) -> Problem {
        self.path = path.into();
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)?;
        if let Some(position) = self.position {
            write!(f, ":{}:{}", position.line, position.column)?;
        }
        if !self.source.is_empty() || self.position.is_some() {
            write!(f, ": ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// Everything that was found at once, so that a person mends a file in one go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    pub fn extend(&mut self, other: Problems) {
        self.0.extend(other.0);
    }

    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|problem| problem.gravity == Gravity::Error)
    }

    /// Only what refuses the text.
    pub fn errors(mut self) -> Problems {
        self.0.retain(|problem| problem.gravity == Gravity::Error);
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// The value if nothing refused it, together with what is only worth a warning.
    pub fn refuse_or<T>(self, value: T) -> Result<(T, Problems), Problems> {
        if self.has_errors() { Err(self) } else { Ok((value, self)) }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems(vec![problem])
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}
