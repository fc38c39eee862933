//! JSON into the tree, strictly: no comments, no trailing commas, no key twice.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::de::IgnoredAny;

use super::{DEPTH_MAX, Entry, Node, Span, Trouble, Value};

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(text: &str) -> Result<Node, Trouble> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT).map_err(|error| {
        let kind = error.kind().to_string();
        Trouble::new(format!("not valid JSON: {}", kind.to_lowercase()), error.range().start)
    })?;
    let root = match parsed.value {
        Some(value) => node(value, 0)?,
        None => return Err(Trouble::new("not valid JSON: the text is empty", 0)),
    };
    well_formed(text)?;
    Ok(root)
}

/// The parser that knows positions is lenient about strings and white space; what it lets through
/// must be JSON to every other program as well.
fn well_formed(text: &str) -> Result<(), Trouble> {
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|error| {
        let lines_before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let at = lines_before.map(str::len).sum::<usize>() + error.column();
        let message = error.to_string();
        let reason = message.split_once(" at line ").map_or(message.as_str(), |(reason, _)| reason);
        Trouble::new(format!("not valid JSON: {reason}"), text.floor_char_boundary(at))
    })
}

fn node(value: ast::Value<'_>, depth: usize) -> Result<Node, Trouble> {
    let span = span(&value);
    if depth > DEPTH_MAX {
        return Err(Trouble::too_deep(span.start));
    }
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::NumberLit(literal) => number(literal.value, span.start)?,
        ast::Value::StringLit(literal) => Value::Text(literal.value.into_owned()),
        ast::Value::Array(array) => {
            let items: Result<Vec<Node>, Trouble> =
                array.elements.into_iter().map(|element| node(element, depth + 1)).collect();
            Value::List(items?)
        }
        ast::Value::Object(object) => {
            let mut entries: Vec<Entry> = Vec::with_capacity(object.properties.len());
            let mut seen = std::collections::HashSet::new();
            for property in object.properties {
                let key_range = property.name.range();
                let key = property.name.into_string();
                if !seen.insert(key.clone()) {
                    return Err(Trouble::duplicate_key(&key, key_range.start));
                }
                let value = node(property.value, depth + 1)?;
                entries.push(Entry { key, key_span: key_range.start..key_range.end, value });
            }
            Value::Map(entries)
        }
    };
    Ok(Node { value, span })
}

fn span(value: &ast::Value<'_>) -> Span {
    let range = value.range();
    range.start..range.end
}

fn number(literal: &str, at: usize) -> Result<Value, Trouble> {
    if let Ok(whole) = literal.parse::<i64>() {
        return Ok(Value::Int(whole));
    }
    if let Ok(whole) = literal.parse::<u64>() {
        return Ok(Value::Big(whole));
    }
    match literal.parse::<f64>() {
        Ok(float) if float.is_finite() => Ok(Value::Float(float)),
        _ => Err(Trouble::new(format!("number `{}` is out of range", super::excerpt(literal)), at)),
    }
}
