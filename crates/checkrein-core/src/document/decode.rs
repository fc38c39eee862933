//! The tree into typed values by serde, with errors that name file, line, value and remedy.
//!
//! Unknown keys are collected and skipped, so that one look at a file finds all of them; a wrong
//! type ends the decoding where it stands. A section whose lines are all commented out is empty.

use std::cell::RefCell;
use std::fmt;

use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};

use crate::policy::TEXT_OR;

use super::hint::{closest, listed};
use super::{Document, Entry, Gravity, Node, Problem, Problems, Span, Value, excerpt};

/// Decodes the whole document. `unknown_keys` says whether a key nobody reads refuses the text.
pub fn decode<T: DeserializeOwned>(
    document: &Document,
    unknown_keys: Gravity,
) -> Result<(T, Problems), Problems> {
    decode_part(document, &document.root, "", unknown_keys)
}

/// Decodes `node`, which stands at `base` in the document.
pub fn decode_part<T: DeserializeOwned>(
    document: &Document,
    node: &Node,
    base: &str,
    unknown_keys: Gravity,
) -> Result<(T, Problems), Problems> {
    let seen = Seen { unknown: RefCell::new(Vec::new()) };
    let root = Path { parent: None, segment: Segment::Root };
    let within = Path { parent: Some(&root), segment: Segment::Key(base) };
    let path = if base.is_empty() { &root } else { &within };
    let result = T::deserialize(Decoder { node, path, seen: &seen });

    let mut problems = Problems::default();
    for unknown in seen.unknown.into_inner() {
        let mut problem =
            Problem { gravity: unknown_keys, ..Problem::error(&document.name, unknown.message) };
        problem = problem.at(Some(document.at(unknown.span.start))).path(unknown.path);
        problem.hint = Some(unknown.hint);
        problems.push(problem);
    }
    match result {
        Ok(value) => problems.refuse_or(value),
        Err(error) => {
            let span = error.place.as_ref().map_or(node.span.clone(), |place| place.span.clone());
            let path = error.place.map_or(String::new(), |place| place.path);
            let position = document.at(span.start);
            let mut problem = Problem::error(&document.name, error.message).at(Some(position)).path(path);
            problem.hint = error.hint;
            problems.push(problem);
            Err(problems)
        }
    }
}

/// What was met on the way that does not stop the decoding.
struct Seen {
    unknown: RefCell<Vec<Unknown>>,
}

struct Unknown {
    message: String,
    hint: String,
    span: Span,
    path: String,
}

#[derive(Clone, Copy)]
enum Segment<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

/// The way from the root to a value, kept on the stack while decoding.
struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: Segment<'a>,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}")?;
            if !matches!(parent.segment, Segment::Root) && matches!(self.segment, Segment::Key(_)) {
                write!(f, ".")?;
            }
        }
        match self.segment {
            Segment::Root => Ok(()),
            Segment::Key(key) => f.write_str(&excerpt(key)),
            Segment::Index(index) => write!(f, "[{index}]"),
        }
    }
}

#[derive(Clone, Copy)]
struct Decoder<'n, 'p> {
    node: &'n Node,
    path: &'p Path<'p>,
    seen: &'p Seen,
}

impl Decoder<'_, '_> {
    /// Fills in where an error happened, unless something deeper already did.
    fn place(&self, error: DecodeError) -> DecodeError {
        match error.place {
            Some(_) => error,
            None => DecodeError {
                place: Some(Place { span: self.node.span.clone(), path: self.path.to_string() }),
                ..error
            },
        }
    }

    fn wrong(&self, expected: &dyn de::Expected) -> DecodeError {
        let found = match self.node.quoted() {
            Some(quoted) => format!("{} {quoted}", self.node.kind()),
            None => self.node.kind().to_owned(),
        };
        self.place(DecodeError::new(format!("expected {expected}, found {found}")))
    }

    fn list<'de, V: Visitor<'de>>(self, items: &[Node], visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_seq(Items { decoder: self, items: items.iter().enumerate() })
    }

    fn map<'de, V: Visitor<'de>>(
        self,
        entries: &[Entry],
        fields: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let result =
            visitor.visit_map(Entries { decoder: self, entries: entries.iter(), fields, current: None });
        result.map_err(|error| self.place(error))
    }

    fn note_unknown(&self, entry: &Entry, fields: &'static [&'static str]) {
        let hint = match closest(&entry.key, fields.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if fields.is_empty() => "no key is allowed here".to_owned(),
            None => format!("allowed here: {}", listed(fields.iter().copied())),
        };
        self.seen.unknown.borrow_mut().push(Unknown {
            message: format!("unknown key `{}`", excerpt(&entry.key)),
            hint,
            span: entry.key_span.clone(),
            path: self.path.to_string(),
        });
    }
}

/// `3.0` is a whole number, however a program came to write it so.
macro_rules! whole_numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match self.node.value {
                Value::Float(float) if float.fract() == 0.0 && float.abs() < 9e15 => {
                    visitor.visit_i64(float as i64).map_err(|error| self.place(error))
                }
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Decoder<'_, '_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let result = match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Int(value) => visitor.visit_i64(*value),
            Value::Big(value) => visitor.visit_u64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(value) => visitor.visit_str(value),
            Value::List(items) => self.list(items, visitor),
            Value::Map(entries) => self.map(entries, None, visitor),
        };
        result.map_err(|error| self.place(error))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.node.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let result = match &self.node.value {
            Value::Text(text) if name == TEXT_OR => visitor.visit_str(text),
            Value::Null | Value::Bool(_) | Value::List(_) if name == TEXT_OR => Err(self.wrong(&TEXT_OR)),
            _ => visitor.visit_newtype_struct(self),
        };
        result.map_err(|error| self.place(error))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Map(entries) => self.map(entries, Some(fields), visitor),
            Value::Null => self.map(&[], Some(fields), visitor),
            _ => Err(self.wrong(&"a map")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Map(entries) => self.map(entries, None, visitor),
            Value::Null => self.map(&[], None, visitor),
            _ => Err(self.wrong(&"a map")),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::List(items) => self.list(items, visitor).map_err(|error| self.place(error)),
            Value::Null => self.list(&[], visitor),
            _ => Err(self.wrong(&"a list")),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Text(text) => {
                let variant = text.as_str().into_deserializer();
                visitor.visit_enum::<de::value::StrDeserializer<'_, DecodeError>>(variant)
            }
            .map_err(|error| self.place(error)),
            _ => Err(self.wrong(&format!("one of {}", listed(variants.iter().copied())).as_str())),
        }
    }

    whole_numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    serde::forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct tuple tuple_struct identifier ignored_any
    }
}

struct Items<'n, 'p> {
    decoder: Decoder<'n, 'p>,
    items: std::iter::Enumerate<std::slice::Iter<'n, Node>>,
}

impl<'de> de::SeqAccess<'de> for Items<'_, '_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some((index, node)) = self.items.next() else { return Ok(None) };
        let path = Path { parent: Some(self.decoder.path), segment: Segment::Index(index) };
        let item = Decoder { node, path: &path, seen: self.decoder.seen };
        seed.deserialize(item).map(Some).map_err(|error| item.place(error))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Entries<'n, 'p> {
    decoder: Decoder<'n, 'p>,
    entries: std::slice::Iter<'n, Entry>,
    fields: Option<&'static [&'static str]>,
    current: Option<&'n Entry>,
}

impl<'de> de::MapAccess<'de> for Entries<'_, '_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        for entry in self.entries.by_ref() {
            if let Some(fields) = self.fields
                && !fields.contains(&entry.key.as_str())
            {
                self.decoder.note_unknown(entry, fields);
                continue;
            }
            self.current = Some(entry);
            let key: de::value::StrDeserializer<'_, DecodeError> = entry.key.as_str().into_deserializer();
            return seed.deserialize(key).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let Some(entry) = self.current.take() else {
            return Err(DecodeError::new("a value without its key"));
        };
        let path = Path { parent: Some(self.decoder.path), segment: Segment::Key(&entry.key) };
        let value = Decoder { node: &entry.value, path: &path, seen: self.decoder.seen };
        seed.deserialize(value).map_err(|error| value.place(error))
    }
}

#[derive(Debug)]
struct DecodeError {
    message: String,
    hint: Option<String>,
    place: Option<Place>,
}

#[derive(Debug)]
struct Place {
    span: Span,
    path: String,
}

impl DecodeError {
    fn new(message: impl Into<String>) -> DecodeError {
        DecodeError { message: message.into(), hint: None, place: None }
    }
}

impl std::error::Error for DecodeError {}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> DecodeError {
        // A type that checks itself may put the remedy behind this mark.
        let text = message.to_string();
        match text.split_once("\nhint: ") {
            Some((message, hint)) => DecodeError { hint: Some(hint.to_owned()), ..DecodeError::new(message) },
            None => DecodeError::new(text),
        }
    }

    fn invalid_type(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> DecodeError {
        DecodeError::new(format!("expected {}, found {}", wanted(expected), found(unexpected)))
    }

    fn invalid_value(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> DecodeError {
        DecodeError::new(format!("expected {}, found {}", wanted(expected), found(unexpected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> DecodeError {
        let mut error = DecodeError::new(format!(
            "unknown value `{}`, expected one of {}",
            excerpt(variant),
            listed(expected.iter().copied())
        ));
        error.hint = closest(variant, expected.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        error
    }

    fn missing_field(field: &'static str) -> DecodeError {
        DecodeError::new(format!("missing key `{field}`"))
    }
}

/// Serde names Rust's types; a person wrote a file.
fn wanted(expected: &dyn de::Expected) -> String {
    let expected = expected.to_string();
    match expected.as_str() {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 up".to_owned(),
        "i8" | "i16" | "i32" | "i64" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a string" => "text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        _ => expected,
    }
}

fn found(unexpected: de::Unexpected<'_>) -> String {
    match unexpected {
        de::Unexpected::Unit | de::Unexpected::Option => "nothing".to_owned(),
        de::Unexpected::Bool(value) => format!("a yes/no value `{value}`"),
        de::Unexpected::Unsigned(value) => format!("a number `{value}`"),
        de::Unexpected::Signed(value) => format!("a number `{value}`"),
        de::Unexpected::Float(value) => format!("a number `{value}`"),
        de::Unexpected::Str(value) => format!("text `{}`", excerpt(value)),
        de::Unexpected::Seq => "a list".to_owned(),
        de::Unexpected::Map => "a map".to_owned(),
        other => other.to_string(),
    }
}
