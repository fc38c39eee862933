//! `{name}` in a shell command. A value is never pasted into the command, where it could be read as
//! code: it goes into a variable, and the command gets a reference to it, quoted as its place needs.

use indexmap::IndexMap;

use super::placeholder::{Braced, Context, Unfilled, opening_braces, value_of};

/// The command with references for placeholders, and the variables they refer to.
///
/// `{name}` works bare, in double and in single quotes, and yields exactly one word. It is no placeholder
/// after `$`, `@`, `%` or a backslash (`${x}`, `HEAD@{upstream}`, `%{http_code}`), in a comment, or in a
/// here-document whose delimiter is quoted. A command line inside a command line (`sh -c`, `eval`, `ssh`)
/// is the inner shell's to read: there, use the variable `CHECKREIN_VALUE_NAME` in that shell's own quotes.
pub fn fill_shell(command: &str, context: &Context) -> Result<(String, Vec<(String, String)>), Unfilled> {
    let mut variables: IndexMap<String, String> = IndexMap::new();
    let filled = Walk::new(command).replace(|braced, place| {
        if !braced.is_placeholder() {
            return Ok(braced.plain());
        }
        let value = value_of(braced.name, context)?;
        let variable = format!("CHECKREIN_VALUE_{}", braced.name.to_ascii_uppercase());
        let reference = match place {
            Place::Bare => format!("\"${{{variable}}}\""),
            Place::Double => format!("${{{variable}}}"),
            Place::Single => format!("'\"${{{variable}}}\"'"),
            Place::Arithmetic => return Err(in_arithmetic(braced.name)),
        };
        variables.insert(variable, value.to_owned());
        Ok(braced.with(&reference))
    })?;
    Ok((filled, variables.into_iter().collect()))
}

/// The names that [`fill_shell`] fills.
pub(super) fn names_in_shell(command: &str) -> Vec<String> {
    let mut names = Vec::new();
    let walked = Walk::new(command).replace(|braced, _| {
        names.extend(braced.is_placeholder().then(|| braced.name.to_owned()));
        Ok::<_, std::convert::Infallible>(String::new())
    });
    walked.map_or_else(|never| match never {}, |_| names)
}

/// The command that [`fill_shell`] fills to `command`.
pub(super) fn escape_shell(command: &str) -> String {
    let escaped = Walk::new(command).replace(|braced, _| Ok::<_, std::convert::Infallible>(braced.escaped()));
    escaped.unwrap_or_else(|never| match never {})
}

/// Some shells run a command that is hidden in a number: `a[$(id)]`.
fn in_arithmetic(name: &str) -> Unfilled {
    let message = format!("`{{{name}}}` stands in shell arithmetic, where a value could be run as code");
    Unfilled::misplaced(
        name,
        message,
        "check that it is a number first, then compute with a variable of your own",
    )
}

/// How the shell reads the place a placeholder stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Bare,
    Double,
    Single,
    Arithmetic,
}

/// What the walk is inside of.
enum Frame {
    /// Commands, up to the end of the text or of a substitution.
    Code {
        end: End,
        parens: usize,
    },
    Single,
    Double,
    Arithmetic {
        parens: usize,
    },
    HereDocument(HereDocument),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Text,
    Paren,
    Backtick,
}

struct HereDocument {
    delimiter: String,
    /// `<<-`: lines may be indented by tabs.
    indented: bool,
    /// The delimiter is quoted, and so is the text.
    quoted: bool,
}

/// One walk over a command, which knows about quotes and nothing else of the shell's grammar.
struct Walk<'t> {
    rest: &'t str,
    out: String,
    frames: Vec<Frame>,
    /// Here-documents that begin on the next line.
    announced: Vec<HereDocument>,
    /// What stands before `rest`; a letter where it has lost its meaning.
    previous: char,
}

/// A character without a meaning.
const PLAIN: char = 'x';

impl<'t> Walk<'t> {
    fn new(command: &'t str) -> Walk<'t> {
        Walk {
            rest: command,
            out: String::with_capacity(command.len()),
            frames: vec![Frame::Code { end: End::Text, parens: 0 }],
            announced: Vec::new(),
            previous: '\n',
        }
    }

    fn replace<E>(
        mut self,
        mut with: impl FnMut(&Braced<'_>, Place) -> Result<String, E>,
    ) -> Result<String, E> {
        while let Some(next) = self.rest.chars().next() {
            if self.here_document_line() {
                continue;
            }
            match next {
                '{' => self.braces(&mut with)?,
                _ => self.step(next),
            }
        }
        Ok(self.out)
    }

    fn braces<E>(&mut self, with: &mut impl FnMut(&Braced<'_>, Place) -> Result<String, E>) -> Result<(), E> {
        let text = self.rest;
        let meant = !matches!(self.previous, '$' | '@' | '%' | '\\');
        match Braced::at(text).filter(|_| meant) {
            Some(braced) => {
                let replaced = with(&braced, self.place())?;
                self.out.push_str(&replaced);
                self.rest = braced.rest;
                self.previous = '}';
            }
            None => {
                let (braces, _) = opening_braces(text);
                self.copy(braces.len());
            }
        }
        Ok(())
    }

    fn place(&self) -> Place {
        match self.frames.last() {
            Some(Frame::Single) => Place::Single,
            Some(Frame::Double | Frame::HereDocument(_)) => Place::Double,
            Some(Frame::Arithmetic { .. }) => Place::Arithmetic,
            Some(Frame::Code { .. }) | None => Place::Bare,
        }
    }

    /// One character, or a few that belong together.
    fn step(&mut self, next: char) {
        match (self.frames.last_mut(), next) {
            (Some(Frame::Single), '\'') => self.leave(1),
            (Some(Frame::Single), _) => self.copy(next.len_utf8()),
            (_, '\\') => self.backslash(),
            (_, '`') => self.backtick(),
            (_, '$') if self.rest.starts_with("$((") => self.enter(3, Frame::Arithmetic { parens: 0 }),
            (_, '$') if self.rest.starts_with("$(") => {
                self.enter(2, Frame::Code { end: End::Paren, parens: 0 });
            }
            (Some(Frame::Double), '"') => self.leave(1),
            (Some(Frame::Double | Frame::HereDocument(_)), _) => self.copy(next.len_utf8()),
            (Some(Frame::Arithmetic { parens }), '(') => {
                *parens += 1;
                self.copy(1);
            }
            (Some(Frame::Arithmetic { parens }), ')') if *parens > 0 => {
                *parens -= 1;
                self.copy(1);
            }
            (Some(Frame::Arithmetic { .. }), ')') if self.rest.starts_with("))") => self.leave(2),
            (Some(frame @ Frame::Arithmetic { .. }), ')') => {
                // It was a substitution that begins with a subshell.
                *frame = Frame::Code { end: End::Paren, parens: 0 };
                self.copy(1);
            }
            (Some(Frame::Arithmetic { .. }), _) => self.copy(next.len_utf8()),
            (Some(Frame::Code { end, parens }), ')') => {
                let ends = *end == End::Paren && *parens == 0;
                *parens = parens.saturating_sub(1);
                if ends { self.leave(1) } else { self.copy(1) }
            }
            (Some(Frame::Code { parens, .. }), '(') => {
                if self.rest.starts_with("((") && begins_word(self.previous) {
                    self.enter(2, Frame::Arithmetic { parens: 0 });
                } else {
                    *parens += 1;
                    self.copy(1);
                }
            }
            (Some(Frame::Code { .. }), '\'') => self.enter(1, Frame::Single),
            (Some(Frame::Code { .. }), '"') => self.enter(1, Frame::Double),
            (Some(Frame::Code { end, .. }), '#') if begins_word(self.previous) => {
                let backtick = *end == End::Backtick;
                let ends = |c: char| c == '\n' || (c == '`' && backtick);
                self.copy(self.rest.find(ends).unwrap_or(self.rest.len()));
            }
            (Some(Frame::Code { .. }), '<') if self.rest.starts_with("<<<") => self.copy(3),
            (Some(Frame::Code { .. }), '<') if self.rest.starts_with("<<") => self.announce(),
            (Some(Frame::Code { .. }), '\n') => {
                self.copy(1);
                let begun = std::mem::take(&mut self.announced);
                self.frames.extend(begun.into_iter().rev().map(Frame::HereDocument));
            }
            (Some(Frame::Code { .. }) | None, _) => self.copy(next.len_utf8()),
        }
    }

    /// A whole line of a here-document, where it ends one or is not looked into.
    fn here_document_line(&mut self) -> bool {
        let Some(Frame::HereDocument(document)) = self.frames.last() else { return false };
        if self.previous != '\n' {
            return false;
        }
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let line = self.rest.get(..end).unwrap_or(self.rest);
        let unindented = if document.indented { line.trim_start_matches('\t') } else { line };
        if unindented == document.delimiter {
            self.leave(end);
            self.previous = PLAIN;
            true
        } else if document.quoted {
            self.copy((end + 1).min(self.rest.len()));
            true
        } else {
            false
        }
    }

    /// `<<EOF`, `<<-'EOF'`: what begins on the next line.
    fn announce(&mut self) {
        self.copy(2);
        let indented = self.rest.starts_with('-');
        self.copy(usize::from(indented));
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        self.copy(blanks);
        let (mut delimiter, mut quoted, mut length) = (String::new(), false, 0);
        let mut open: Option<char> = None;
        for c in self.rest.chars() {
            match (open, c) {
                (Some(quote), _) if quote == c => open = None,
                (None, '\'' | '"') => (open, quoted) = (Some(c), true),
                (None, '\\') => quoted = true,
                (None, _) if c.is_whitespace() || ";&|<>()".contains(c) => break,
                _ => delimiter.push(c),
            }
            length += c.len_utf8();
        }
        self.copy(length);
        if length > 0 {
            self.announced.push(HereDocument { delimiter, indented, quoted });
        }
    }

    /// The next character means itself, and a brace is none of ours.
    fn backslash(&mut self) {
        let before = self.previous;
        self.copy(1);
        match self.rest.chars().next() {
            None | Some('{') => {}
            Some('\n') => {
                self.copy(1);
                self.previous = before;
            }
            Some(c) => {
                self.copy(c.len_utf8());
                self.previous = if matches!(c, '$' | '@' | '%') { c } else { PLAIN };
            }
        }
    }

    /// The end of the innermost substitution in backticks, whatever is open in it, else a new one.
    fn backtick(&mut self) {
        let open = |frame: &Frame| matches!(frame, Frame::Code { end: End::Backtick, .. });
        match self.frames.iter().rposition(open) {
            Some(index) => {
                self.frames.truncate(index);
                self.copy(1);
            }
            None => self.enter(1, Frame::Code { end: End::Backtick, parens: 0 }),
        }
    }

    fn enter(&mut self, bytes: usize, frame: Frame) {
        self.copy(bytes);
        self.frames.push(frame);
    }

    fn leave(&mut self, bytes: usize) {
        self.copy(bytes);
        self.frames.pop();
    }

    fn copy(&mut self, bytes: usize) {
        let Some((copied, rest)) = self.rest.split_at_checked(bytes) else { return };
        self.out.push_str(copied);
        self.previous = copied.chars().next_back().unwrap_or(self.previous);
        self.rest = rest;
    }
}

fn begins_word(previous: char) -> bool {
    previous.is_whitespace() || ";&|()`".contains(previous)
}
