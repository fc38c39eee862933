//! YAML 1.2 (core schema) into the tree: one document, aliases and `<<` expanded within a budget.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Parser, ScalarStyle, Span as Marks, Tag};

use super::{DEPTH_MAX, Entry, NODES_MAX, Node, Span, Trouble, Value};

pub(super) fn parse(text: &str) -> Result<Node, Trouble> {
    let mut builder = Builder::default();
    for item in Parser::new_from_str(text) {
        let (event, marks) = item.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or_else(|| byte_of(text, error.marker().index()));
            Trouble::new(format!("not valid YAML: {}", error.info()), at)
        })?;
        builder.take(event, span(text, &marks))?;
    }
    Ok(builder.root.unwrap_or(Node { value: Value::Null, span: 0..0 }))
}

/// A collection that is still open.
enum Open {
    List {
        items: Vec<Node>,
        start: usize,
        anchor: usize,
    },
    Map {
        entries: Vec<Entry>,
        seen: HashSet<String>,
        key: Option<(String, Span)>,
        start: usize,
        anchor: usize,
    },
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Trouble> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref());
                self.finish(Node { value, span }, anchor, 1)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.deeper(&span)?;
                self.open.push(Open::List { items: Vec::new(), start: span.start, anchor });
                Ok(())
            }
            Event::MappingStart(_, anchor, _) => {
                self.deeper(&span)?;
                self.open.push(Open::Map {
                    entries: Vec::new(),
                    seen: HashSet::new(),
                    key: None,
                    start: span.start,
                    anchor,
                });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List { items, start, anchor }) => {
                    self.finish(Node { value: Value::List(items), span: start..span.end }, anchor, 1)
                }
                Some(Open::Map { entries, start, anchor, .. }) => {
                    let value = Value::Map(merge_keys(entries)?);
                    self.finish(Node { value, span: start..span.end }, anchor, 1)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some((node, size)) => self.finish(Node { value: node.value, span }, 0, size),
                None => Err(Trouble::new("alias refers to itself", span.start)),
            },
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(Trouble::new("a second YAML document begins; one file is one document", span.start))
            }
            _ => Ok(()),
        }
    }

    fn deeper(&self, span: &Span) -> Result<(), Trouble> {
        if self.open.len() >= DEPTH_MAX { Err(Trouble::too_deep(span.start)) } else { Ok(()) }
    }

    /// Puts a finished node where it belongs: into the open collection, or at the root.
    fn finish(&mut self, node: Node, anchor: usize, size: usize) -> Result<(), Trouble> {
        self.nodes += size;
        if self.nodes > NODES_MAX {
            return Err(Trouble::new("too many values (aliases multiplied)", node.span.start));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), weight(&node)));
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, seen, key, .. }) => match key.take() {
                None => {
                    let text = key_text(&node)?;
                    if !seen.insert(text.clone()) {
                        return Err(Trouble::duplicate_key(&text, node.span.start));
                    }
                    *key = Some((text, node.span));
                }
                Some((text, key_span)) => entries.push(Entry { key: text, key_span, value: node }),
            },
        }
        Ok(())
    }
}

/// `<<: *base` brings in what the map itself does not say.
fn merge_keys(mut entries: Vec<Entry>) -> Result<Vec<Entry>, Trouble> {
    let Some(index) = entries.iter().position(|entry| entry.key == "<<") else { return Ok(entries) };
    let merge = entries.remove(index);
    let at = merge.value.span.start;
    let sources = match merge.value.value {
        Value::List(items) => items,
        _ => vec![merge.value],
    };
    for source in sources {
        let Value::Map(inherited) = source.value else {
            return Err(Trouble::new("`<<` takes a map or a list of maps", at));
        };
        for entry in inherited {
            if !entries.iter().any(|own| own.key == entry.key) {
                entries.push(entry);
            }
        }
    }
    Ok(entries)
}

fn key_text(node: &Node) -> Result<String, Trouble> {
    match &node.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Null => Ok("null".to_owned()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Int(value) => Ok(value.to_string()),
        Value::Big(value) => Ok(value.to_string()),
        Value::Float(value) => Ok(value.to_string()),
        Value::List(_) | Value::Map(_) => Err(Trouble::new("a key must be plain text", node.span.start)),
    }
}

/// How much an alias adds: a long text weighs as much as many short ones.
fn weight(node: &Node) -> usize {
    const TEXT_BYTES_PER_NODE: usize = 64;
    let of_text = |text: &str| 1 + text.len() / TEXT_BYTES_PER_NODE;
    match &node.value {
        Value::List(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Map(entries) => {
            1 + entries.iter().map(|entry| of_text(&entry.key) + weight(&entry.value)).sum::<usize>()
        }
        Value::Text(text) => of_text(text),
        _ => 1,
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let plain = style == ScalarStyle::Plain && tag.is_none_or(|tag| tag.suffix() != "str");
    if plain { resolve(text) } else { Value::Text(text.to_owned()) }
}

/// The core schema: what a plain scalar means. `yes`, `no`, `on` and `off` are text.
fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" => return Value::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Value::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Value::Float(f64::NAN),
        _ => {}
    }
    let radix = |digits: &str, radix| i64::from_str_radix(digits, radix).ok().map(Value::Int);
    let whole = match (text.strip_prefix("0x"), text.strip_prefix("0o")) {
        (Some(hex), _) => radix(hex, 16),
        (_, Some(octal)) => radix(octal, 8),
        _ => None,
    };
    if let Some(value) = whole {
        return value;
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Value::Text(text.to_owned());
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Value::Int(whole);
    }
    if let Ok(whole) = text.parse::<u64>() {
        return Value::Big(whole);
    }
    let numeric = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E'));
    match text.parse::<f64>() {
        Ok(float) if numeric => Value::Float(float),
        _ => Value::Text(text.to_owned()),
    }
}

fn span(text: &str, marks: &Marks) -> Span {
    marks.byte_range().unwrap_or_else(|| byte_of(text, marks.start.index())..byte_of(text, marks.end.index()))
}

fn byte_of(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(byte, _)| byte)
}
