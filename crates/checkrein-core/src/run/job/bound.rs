//! How much an agent may hand in. What it writes is kept for ever, and people read it: what is beyond is left out or
//! cut, and that is a finding.

use serde_json::Value;

use super::Todo;

/// Of each list: todos, deliverables, warnings, errors, replies.
pub const ITEMS_MAX: usize = 500;
/// Of each text.
const CHARS_MAX: usize = 10_000;

/// What was left out of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// In words, one for each field.
    pub told: Vec<String>,
    /// Warnings or errors are among it, and one of them might be why the job should not proceed.
    pub findings: bool,
}

/// Cuts a result down to what is kept of one.
pub fn bound(result: &mut Value) -> LeftOut {
    let mut left_out = LeftOut::default();
    let Value::Object(fields) = result else { return left_out };
    for (name, value) in fields.iter_mut() {
        let mut less = false;
        let cut = match value {
            Value::Array(items) => {
                let beyond = items.len().saturating_sub(ITEMS_MAX);
                if beyond > 0 {
                    items.truncate(ITEMS_MAX);
                    less = true;
                    left_out.told.push(format!(
                        "the agent's `{name}` has {beyond} items more than the {ITEMS_MAX} that are kept"
                    ));
                }
                items.iter_mut().filter_map(|item| bound_item(item).then_some(())).count()
            }
            other => usize::from(bound_item(other)),
        };
        if cut > 0 {
            less = true;
            left_out.told.push(format!(
                "the agent's `{name}` has {cut} texts longer than the {CHARS_MAX} characters that are kept"
            ));
        }
        left_out.findings |= less && matches!(name.as_str(), "warnings" | "errors");
    }
    left_out
}

/// The same for the todos of a file; what was left out, in words.
pub fn bound_todos(todos: &mut Vec<Todo>) -> Vec<String> {
    let beyond = todos.len().saturating_sub(ITEMS_MAX);
    todos.truncate(ITEMS_MAX);
    let mut told = Vec::new();
    if beyond > 0 {
        told.push(format!("todos.yaml has {beyond} todos more than the {ITEMS_MAX} that are kept"));
    }
    let cut = todos.iter_mut().filter_map(|todo| cut(&mut todo.content).then_some(())).count();
    if cut > 0 {
        told.push(format!("todos.yaml has {cut} todos longer than the {CHARS_MAX} characters that are kept"));
    }
    told
}

/// Cuts the texts of a value, and one that is too long for other reasons to a text of it; whether it did.
fn bound_item(value: &mut Value) -> bool {
    let was_cut = match value {
        Value::String(text) => return cut(text),
        Value::Object(fields) => fields.values_mut().fold(false, |was_cut, field| match field {
            Value::String(text) => cut(text) || was_cut,
            _ => was_cut,
        }),
        Value::Array(_) => false,
        Value::Null | Value::Bool(_) | Value::Number(_) => return false,
    };
    let mut whole = value.to_string();
    // As long as one text may be, and what else a finding or a reply says beside it.
    if whole.len() > 8 * CHARS_MAX && cut(&mut whole) {
        *value = Value::String(whole);
        return true;
    }
    was_cut
}

fn cut(text: &mut String) -> bool {
    let mut ends = text.char_indices().map(|(end, _)| end).skip(CHARS_MAX - 1);
    let (Some(end), Some(_)) = (ends.next(), ends.next()) else { return false };
    text.truncate(end);
    text.push('…');
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_too_much_is_left_out_and_told() {
        let long = |chars: usize| "x".repeat(chars);
        for (mut value, told, findings) in [
            (json!({"summary": "s", "next_todos": ["a", "b"], "usage": {"tokens": 1}}), "", false),
            (json!([1]), "", false),
            (
                json!({"next_todos": vec!["x"; 200_000]}),
                "the agent's `next_todos` has 199500 items more than the 500 that are kept",
                false,
            ),
            (
                json!({"warnings": vec!["x"; 501]}),
                "the agent's `warnings` has 1 items more than the 500 that are kept",
                true,
            ),
            (
                json!({"summary": long(10_001)}),
                "the agent's `summary` has 1 texts longer than the 10000 characters that are kept",
                false,
            ),
            (
                json!({"errors": [long(10_001), {"text": long(11_000), "severity": "high"}, long(10_000)]}),
                "the agent's `errors` has 2 texts longer than the 10000 characters that are kept",
                true,
            ),
            (
                json!({"comment_replies": [{"id": "c1", "text": {"deep": long(100_000)}}]}),
                "the agent's `comment_replies` has 1 texts longer than the 10000 characters that are kept",
                false,
            ),
        ] {
            let before = value.clone();
            let left_out = bound(&mut value);
            assert_eq!(left_out, LeftOut { told: told.lines().map(str::to_owned).collect(), findings });
            assert_eq!(value == before, told.is_empty(), "{told}");
            assert_eq!(bound(&mut value), LeftOut::default(), "{told}");
            assert!(value.to_string().len() < 40_000, "{told}");
        }
    }
}
