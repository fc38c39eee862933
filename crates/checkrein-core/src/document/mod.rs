//! What people write (YAML, JSON, TOML) as one tree that remembers where everything stood.
//!
//! Three formats, one [`Node`]: whatever is checked later can say file, line and column, and a
//! rewrite can touch the bytes of one value and leave the rest of the file alone.

mod decode;
mod hint;
mod json;
mod problem;
mod toml;
mod yaml;

use std::fmt;
use std::ops::Range;

pub use decode::{decode, decode_part};
pub use hint::{closest, listed};
pub use problem::{Gravity, Position, Problem, Problems};

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Yaml,
    Json,
    Toml,
}

impl Format {
    /// By the file name's ending; anything unknown is read as YAML, of which JSON is a part.
    pub fn of_name(name: &str) -> Format {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("json") => Format::Json,
            Some("toml") => Format::Toml,
            _ => Format::Yaml,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Yaml => "YAML",
            Format::Json => "JSON",
            Format::Toml => "TOML",
        })
    }
}

/// A byte range of the source text.
pub type Span = Range<usize>;

/// A parsed text with its name, so that every complaint can point into it.
#[derive(Clone, Debug)]
pub struct Document {
    /// What a person calls it: a path, `--autonomy`, the name of a variable.
    pub name: String,
    pub text: String,
    pub format: Format,
    pub root: Node,
    /// Where each line begins, so that a thousand complaints do not read the text a thousand times.
    line_starts: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub value: Value,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// Whole numbers beyond `i64`.
    Big(u64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One `key: value` of a map; maps keep the order they were written in.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: String,
    pub key_span: Span,
    pub value: Node,
}

/// Positions are where a value was written, not part of what it is.
impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.value == other.value
    }
}

impl Document {
    /// Parses `text`; a syntax error, a key given twice or a second document is refused.
    pub fn parse(name: &str, text: &str, format: Format) -> Result<Document, Problems> {
        let root = match format {
            Format::Yaml => yaml::parse(text),
            Format::Json => json::parse(text),
            Format::Toml => toml::parse(text),
        };
        match root {
            Ok(root) => {
                let line_starts =
                    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
                Ok(Document { name: name.to_owned(), text: text.to_owned(), format, root, line_starts })
            }
            Err(trouble) => {
                let position = trouble.at.map(|at| Position::of(text, at));
                let mut problem = Problem::error(name, trouble.message).at(position);
                if let Some(hint) = trouble.hint {
                    problem = problem.hint(hint);
                }
                Err(Problems::from(problem))
            }
        }
    }

    /// The position of the value at `path` (keys and indices), or of its nearest parent that exists.
    pub fn position(&self, path: &[&str]) -> Position {
        let mut node = &self.root;
        let mut start = node.span.start;
        for segment in path {
            match node.child(segment) {
                Some((at, child)) => (start, node) = (at, child),
                None => break,
            }
        }
        self.at(start)
    }

    /// A complaint about the value at `path`.
    pub fn problem(&self, gravity: Gravity, path: &[&str], message: impl Into<String>) -> Problem {
        let problem = Problem { gravity, ..Problem::error(&self.name, message) };
        problem.at(Some(self.position(path))).path(self.path(path))
    }

    /// The place of a byte.
    pub fn at(&self, offset: usize) -> Position {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.line_starts.get(index)).copied().unwrap_or(0);
        let before = self.text.get(start..offset.min(self.text.len())).unwrap_or("");
        Position { line: line.max(1), column: before.chars().count() + 1 }
    }

    /// The same path as a message writes it: `phases.build.steps[1]`.
    pub fn path(&self, path: &[&str]) -> String {
        let mut node = Some(&self.root);
        let mut out = String::new();
        for segment in path {
            match node.map(|node| &node.value) {
                Some(Value::List(_)) => out.push_str(&format!("[{segment}]")),
                _ if out.is_empty() => out.push_str(segment),
                _ => out.push_str(&format!(".{segment}")),
            }
            node = node.and_then(|node| node.child(segment)).map(|(_, child)| child);
        }
        out
    }
}

impl Node {
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The value below a key or an index, and where it begins.
    fn child(&self, segment: &str) -> Option<(usize, &Node)> {
        match &self.value {
            Value::Map(_) => self.entry(segment).map(|entry| (entry.key_span.start, &entry.value)),
            Value::List(items) => {
                let item = items.get(segment.parse::<usize>().ok()?)?;
                Some((item.span.start, item))
            }
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The same value without positions. A number JSON cannot hold becomes null.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => (*value).into(),
            Value::Big(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Map(entries) => {
                let map = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                serde_json::Value::Object(map.collect())
            }
        }
    }

    /// What a message calls this kind of value.
    fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a yes/no value",
            Value::Int(_) | Value::Big(_) | Value::Float(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// The value itself where it is short enough to quote in a message.
    fn quoted(&self) -> Option<String> {
        match &self.value {
            Value::Bool(value) => Some(format!("`{value}`")),
            Value::Int(value) => Some(format!("`{value}`")),
            Value::Big(value) => Some(format!("`{value}`")),
            Value::Float(value) => Some(format!("`{value:?}`")),
            Value::Text(value) => Some(format!("`{}`", excerpt(value))),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }
}

/// Nothing a person writes by hand nests deeper; what does is refused before it can hurt.
const DEPTH_MAX: usize = 100;
/// Aliases can multiply a small text; this many nodes is far beyond any real file.
const NODES_MAX: usize = 200_000;

/// Why a parser gave up, before the document has a name.
#[derive(Debug)]
struct Trouble {
    message: String,
    at: Option<usize>,
    hint: Option<String>,
}

impl Trouble {
    fn new(message: impl Into<String>, at: usize) -> Trouble {
        Trouble { message: message.into(), at: Some(at), hint: None }
    }

    fn duplicate_key(key: &str, at: usize) -> Trouble {
        Trouble::new(format!("key `{}` is given twice", excerpt(key)), at)
    }

    fn too_deep(at: usize) -> Trouble {
        Trouble::new(format!("nested deeper than {DEPTH_MAX} levels"), at)
    }
}

/// User text for a message: one line, never long enough to hide the message.
fn excerpt(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == CHARS_MAX {
            out.push('…');
            break;
        }
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests;
