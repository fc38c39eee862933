//! `{name}` in a text: found, filled from what a run knows, or kept as it stands.
//!
//! Only a plain name in braces is a placeholder, so JSON, `{}`, `{a,b}` and `${X}` need no care. Where
//! the braces themselves are meant, they are doubled: `{{name}}` becomes `{name}`.

use indexmap::IndexMap;

use crate::document::{closest, listed};

/// What a run knows, by name.
pub type Context = IndexMap<String, String>;

/// A placeholder that cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unfilled {
    pub name: String,
    pub message: String,
    pub hint: String,
    pub(super) why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// A value would do.
    Missing,
    /// No value may stand there.
    Misplaced,
}

impl Unfilled {
    pub(super) fn misplaced(name: &str, message: String, hint: &str) -> Unfilled {
        Unfilled { name: name.to_owned(), message, hint: hint.to_owned(), why: Why::Misplaced }
    }

    /// Whether it would be filled if there were a value.
    pub fn is_missing(&self) -> bool {
        self.why == Why::Missing
    }
}

/// Fills `{name}` from the context. For text that nothing executes; see
/// [`fill_shell`](super::fill_shell) for commands.
pub fn fill_text(text: &str, context: &Context) -> Result<String, Unfilled> {
    walk(text, |braced| match braced.is_placeholder() {
        true => Ok(braced.with(value_of(braced.name, context)?)),
        false => Ok(braced.plain()),
    })
}

/// The names that [`fill_text`] fills.
pub(super) fn names_in_text(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let walked = walk(text, |braced| {
        names.extend(braced.is_placeholder().then(|| braced.name.to_owned()));
        Ok::<_, std::convert::Infallible>(String::new())
    });
    walked.map_or_else(|never| match never {}, |_| names)
}

/// Whether a text can be the name of a placeholder.
pub(super) fn is_name(text: &str) -> bool {
    Braced::at(&format!("{{{text}}}")).is_some_and(|braced| braced.name == text)
}

/// The text that [`fill_text`] fills to `text`.
pub(super) fn escape_text(text: &str) -> String {
    let escaped = walk(text, |braced| Ok::<_, std::convert::Infallible>(braced.escaped()));
    escaped.unwrap_or_else(|never| match never {})
}

pub(super) fn value_of<'c>(name: &str, context: &'c Context) -> Result<&'c str, Unfilled> {
    context.get(name).map(String::as_str).ok_or_else(|| Unfilled {
        name: name.to_owned(),
        message: format!("there is no value for `{{{name}}}`"),
        hint: {
            let known = || context.keys().map(String::as_str);
            let near = match (closest(name, known()), context.is_empty()) {
                (Some(near), _) => format!("did you mean `{{{near}}}`?"),
                (None, true) => "nothing is known here.".to_owned(),
                (None, false) => format!("known: {}.", listed(known())),
            };
            format!("{near} Write `{{{{{name}}}}}` for the text itself")
        },
        why: Why::Missing,
    })
}

/// A name with braces directly around it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Braced<'t> {
    opening: usize,
    pub(super) name: &'t str,
    closing: usize,
    /// The text after it.
    pub(super) rest: &'t str,
}

impl<'t> Braced<'t> {
    /// What `text` begins with, braces and all.
    pub(super) fn at(text: &'t str) -> Option<Braced<'t>> {
        let (braces, inner) = opening_braces(text);
        let letter = |c: char| c.is_ascii_lowercase() || c == '_';
        let end = inner.find(|c: char| !letter(c) && !c.is_ascii_digit())?;
        let (name, after) = inner.split_at_checked(end)?;
        let rest = after.trim_start_matches('}');
        let closing = after.len() - rest.len();
        let found = !braces.is_empty() && closing > 0 && name.starts_with(letter);
        found.then_some(Braced { opening: braces.len(), name, closing, rest })
    }

    /// One brace on either side is enough: `{"a": {name}}` has a placeholder in it.
    pub(super) fn is_placeholder(&self) -> bool {
        self.opening.min(self.closing) == 1
    }

    /// `inner` in the place of the name and its innermost braces.
    pub(super) fn with(&self, inner: &str) -> String {
        let (opening, closing) = ("{".repeat(self.opening - 1), "}".repeat(self.closing - 1));
        format!("{opening}{inner}{closing}")
    }

    /// Doubled braces as they are meant.
    pub(super) fn plain(&self) -> String {
        self.with(self.name)
    }

    /// What is filled to this.
    pub(super) fn escaped(&self) -> String {
        let (opening, closing) = ("{".repeat(self.opening + 1), "}".repeat(self.closing + 1));
        format!("{opening}{}{closing}", self.name)
    }
}

/// The braces `text` begins with, and the rest.
pub(super) fn opening_braces(text: &str) -> (&str, &str) {
    let inner = text.trim_start_matches('{');
    text.split_at_checked(text.len() - inner.len()).unwrap_or(("", text))
}

fn walk<E>(text: &str, mut replace: impl FnMut(&Braced<'_>) -> Result<String, E>) -> Result<String, E> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.find('{').and_then(|at| rest.split_at_checked(at)) {
        out.push_str(before);
        // A variable of whatever reads the text later.
        let variable = before.ends_with('$');
        rest = match Braced::at(from).filter(|_| !variable) {
            Some(braced) => {
                out.push_str(&replace(&braced)?);
                braced.rest
            }
            None => {
                let (braces, inner) = opening_braces(from);
                out.push_str(braces);
                inner
            }
        };
    }
    out.push_str(rest);
    Ok(out)
}
