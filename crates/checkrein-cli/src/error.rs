//! What a failure looks like to a person and to a script: words, a hint, an exit code.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use checkrein_core::document::{Problem, Problems};

/// The exit codes people script against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub struct CliError {
    exit: Exit,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Message { message: String, hint: Option<String> },
    Problems(Problems),
}

impl CliError {
    /// Wrong arguments or a wrong file.
    pub fn usage(message: impl Into<String>) -> CliError {
        CliError { exit: Exit::Usage, body: Body::Message { message: message.into(), hint: None } }
    }

    pub fn failed(message: impl Into<String>) -> CliError {
        CliError { exit: Exit::Failed, ..CliError::usage(message) }
    }

    pub fn hint(mut self, text: impl Into<String>) -> CliError {
        if let Body::Message { hint, .. } = &mut self.body {
            *hint = Some(text.into());
        }
        self
    }

    /// Says it on stderr.
    pub fn report(self) -> ExitCode {
        let text = match &self.body {
            Body::Message { message, hint } => {
                let mut text = message.clone();
                if let Some(hint) = hint {
                    text.push_str(&format!("\n  hint: {hint}"));
                }
                label("error", AnsiColor::Red, &text)
            }
            Body::Problems(problems) => {
                problems.iter().map(|problem| label("error", AnsiColor::Red, &problem.to_string())).collect()
            }
        };
        say(&text);
        self.exit.into()
    }
}

impl From<Problems> for CliError {
    fn from(problems: Problems) -> CliError {
        CliError { exit: Exit::Usage, body: Body::Problems(problems) }
    }
}

/// For a command that collects what is wrong instead of giving up at once.
impl From<CliError> for Problems {
    fn from(error: CliError) -> Problems {
        match error.body {
            Body::Problems(problems) => problems,
            Body::Message { message, hint } => {
                let mut problem = Problem::error("", message);
                problem.hint = hint;
                problem.into()
            }
        }
    }
}

/// Says on stderr what is worth knowing but stops nothing.
pub fn warn(text: impl fmt::Display) {
    say(&label("warning", AnsiColor::Yellow, &text.to_string()));
}

fn label(word: &str, color: AnsiColor, text: &str) -> String {
    let style = Style::new().bold().fg_color(Some(color.into()));
    format!("{style}{word}{style:#}: {text}\n")
}

/// A closed stderr is nobody's error.
fn say(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}
