//! What several targets check.

use std::sync::Arc;

use checkrein_core::classify::Classifier;
use checkrein_core::document::{Document, Format, Node, Problems, Value};
use checkrein_core::policy::{Layer, Reading, Resolution, Scope, Shown};

/// Parses `text` and checks that every span of the tree lies in it and every problem points into it.
pub fn check_document(text: &str, format: Format) {
    match Document::parse("fuzz", text, format) {
        Ok(document) => {
            check_spans(&document.root, text);
            let again = Document::parse("fuzz", text, format).expect("the same text parses again");
            assert_eq!(format!("{:?}", again.root), format!("{:?}", document.root));
        }
        Err(problems) => check_problems(&problems, text),
    }
}

fn check_spans(node: &Node, text: &str) {
    assert!(text.get(node.span.clone()).is_some(), "span {:?} is no part of the text", node.span);
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| check_spans(item, text)),
        Value::Map(entries) => {
            for entry in entries {
                assert!(text.get(entry.key_span.clone()).is_some(), "key span {:?}", entry.key_span);
                check_spans(&entry.value, text);
            }
        }
        _ => {}
    }
}

/// A refusal has at least one problem, each with a message and a line that exists.
pub fn check_problems(problems: &Problems, text: &str) {
    assert!(problems.has_errors(), "a refusal names an error");
    check_lines(problems, text);
}

pub fn check_lines(problems: &Problems, text: &str) {
    let lines = text.split('\n').count();
    for problem in problems.iter() {
        assert!(!problem.message.is_empty());
        if let Some(position) = problem.position {
            assert!((1..=lines).contains(&position.line), "line {} of {lines}", position.line);
            assert!(position.column >= 1);
        }
    }
    problems.to_string();
}

/// The document a file target reads; the first byte says in which format.
pub fn document_of(data: &[u8]) -> Option<Arc<Document>> {
    let (first, rest) = data.split_first()?;
    let text = std::str::from_utf8(rest).ok()?;
    let format = format_of(*first);
    match Document::parse("fuzz", text, format) {
        Ok(document) => Some(Arc::new(document)),
        Err(problems) => {
            check_problems(&problems, text);
            None
        }
    }
}

/// `y`, `j` or `t`, so that a start can be written by hand; anything else is spread over the three.
fn format_of(byte: u8) -> Format {
    match byte {
        b'y' => Format::Yaml,
        b'j' => Format::Json,
        b't' => Format::Toml,
        other if other % 3 == 0 => Format::Json,
        other if other % 3 == 1 => Format::Toml,
        _ => Format::Yaml,
    }
}

/// Resolves the layers in `scope` and checks what comes of it: a policy survives being stored, and
/// can be shown.
pub fn check_layers(scope: Scope, layers: &[Layer], text: &str) {
    match Resolution::resolve(scope, layers, Classifier::builtin(), Reading::Coercing) {
        Ok(resolution) => {
            check_lines(&resolution.problems, text);
            let stored = serde_json::to_string(&resolution).expect("a resolution can be stored");
            let read: Resolution = serde_json::from_str(&stored).expect("and read again");
            assert_eq!(read.policy, resolution.policy, "a stored policy means the same");
            assert_eq!(read.sources, resolution.sources);
            serde_json::to_string(&Shown::of(&resolution)).expect("a policy can be shown");
        }
        Err(problems) => check_problems(&problems, text),
    }
}
