//! TOML into the tree. Dates stay text: nothing Checkrein reads is a date.

use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};

use super::{DEPTH_MAX, Entry, Node, Trouble, Value};

pub(super) fn parse(text: &str) -> Result<Node, Trouble> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Trouble::new(format!("not valid TOML: {}", error.message()), at)
    })?;
    let span = table.span();
    Ok(Node { value: map(table.into_inner(), 0)?, span })
}

fn map(table: DeTable<'_>, depth: usize) -> Result<Value, Trouble> {
    let entries: Result<Vec<Entry>, Trouble> = table
        .into_iter()
        .map(|(key, value)| {
            let key_span = key.span();
            Ok(Entry { key: key.into_inner().into_owned(), key_span, value: node(value, depth + 1)? })
        })
        .collect();
    Ok(Value::Map(entries?))
}

fn node(spanned: Spanned<DeValue<'_>>, depth: usize) -> Result<Node, Trouble> {
    let span = spanned.span();
    if depth > DEPTH_MAX {
        return Err(Trouble::too_deep(span.start));
    }
    let value = match spanned.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(integer) => {
            let parsed = i64::from_str_radix(integer.as_str(), integer.radix());
            Value::Int(parsed.map_err(|_| Trouble::new("number is out of range", span.start))?)
        }
        DeValue::Float(float) => {
            let parsed = float.as_str().parse::<f64>();
            Value::Float(parsed.map_err(|_| Trouble::new("number is out of range", span.start))?)
        }
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Datetime(datetime) => Value::Text(datetime.to_string()),
        DeValue::Array(items) => {
            let nodes: Result<Vec<Node>, Trouble> =
                items.into_iter().map(|item| node(item, depth + 1)).collect();
            Value::List(nodes?)
        }
        DeValue::Table(table) => map(table, depth)?,
    };
    Ok(Node { value, span })
}
