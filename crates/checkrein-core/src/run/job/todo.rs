//! Todos, and the file they stand in (L8).

use std::collections::HashSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bound::ITEMS_MAX;
use crate::document::{Document, Format, Gravity};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    pub id: u32,
    pub content: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
}

/// `todos.yaml`: what the next tactical phase has to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TodoList {
    pub phase: String,
    pub description: Option<String>,
    pub todos: Vec<Todo>,
}

/// What is wrong with a list of todos, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadTodos {
    pub path: Vec<String>,
    pub message: String,
}

/// What a round after a request for changes begins with (X9).
pub fn feedback_todos() -> Vec<Todo> {
    numbered(["Process the feedback", "Evaluate the outputs", "Adapt the plan", "Create corrective todos"])
}

pub(super) fn numbered(contents: impl IntoIterator<Item = impl Into<String>>) -> Vec<Todo> {
    let contents = contents.into_iter().map(Into::into).map(|text: String| text.trim().to_owned());
    let contents = contents.filter(|content| !content.is_empty());
    contents.zip(1..).map(|(content, id)| Todo { id, content, done: false }).collect()
}

impl TodoList {
    /// Reads the file; what is wrong with it is said with its place, and nothing of it is taken.
    pub fn read(text: &str) -> Result<TodoList, String> {
        let document = Document::parse("todos.yaml", text, Format::Yaml)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
        TodoList::of_value(&document.root.to_json()).map_err(|wrong| {
            let path: Vec<&str> = wrong.path.iter().map(String::as_str).collect();
            document.problem(Gravity::Error, &path, wrong.message).path("").to_string()
        })
    }

    /// The same of what a program hands in.
    pub fn of_value(value: &Value) -> Result<TodoList, BadTodos> {
        let wrong = |path: &[&str], message: String| BadTodos {
            path: path.iter().map(|part| (*part).to_owned()).collect(),
            message,
        };
        let (map, list) = match value {
            Value::Null => return Ok(TodoList::default()),
            Value::Array(list) => (None, list),
            Value::Object(map) => match map.get("todos") {
                Some(Value::Array(list)) => (Some(map), list),
                None | Some(Value::Null) => return Ok(TodoList::default()),
                Some(_) => return Err(wrong(&["todos"], "`todos` is not a list".to_owned())),
            },
            _ => return Err(wrong(&[], "it is neither a map nor a list".to_owned())),
        };
        let text = |name: &str| map.and_then(|map| map.get(name)).map(plain);
        let (mut todos, mut ids, mut last) = (Vec::new(), HashSet::new(), 0);
        for (index, item) in list.iter().enumerate() {
            let index = index.to_string();
            let path: &[&str] = if map.is_some() { &["todos", &index] } else { &[&index] };
            let todo = todo(item, last).map_err(|message| wrong(path, message))?;
            last = todo.id.max(last);
            if !ids.insert(todo.id) {
                return Err(wrong(path, format!("id `{}` is there twice", todo.id)));
            }
            todos.push(todo);
        }
        Ok(TodoList { phase: text("phase").unwrap_or_default(), description: text("description"), todos })
    }

    /// Reads what a person is about to approve: a plan has at least one todo.
    pub fn read_approved(text: Option<&str>) -> Result<TodoList, String> {
        let list = TodoList::read(text.ok_or("todos.yaml is gone, or is no text")?)?;
        if list.todos.len() > ITEMS_MAX {
            return Err(format!("todos.yaml has {} todos, at most {ITEMS_MAX} are taken", list.todos.len()));
        }
        if list.todos.is_empty() { Err("todos.yaml has no todos".to_owned()) } else { Ok(list) }
    }

    /// As the file is written.
    pub fn write(&self) -> String {
        let mut out = format!("phase: {}\n", quoted(&self.phase));
        if let Some(description) = &self.description {
            let _ = writeln!(out, "description: {}", quoted(description));
        }
        if self.todos.is_empty() {
            out.push_str("todos: []\n");
            return out;
        }
        out.push_str("todos:\n");
        for todo in &self.todos {
            let _ = writeln!(out, "  - id: {}\n    content: {}", todo.id, quoted(&todo.content));
            if todo.done {
                out.push_str("    done: true\n");
            }
        }
        out
    }

    /// The todos a plan in Markdown names: its unticked boxes, else its numbered lines, else one for all.
    pub fn of_plan(plan: &str) -> Vec<Todo> {
        let lines = || plan.lines().map(str::trim);
        let boxes: Vec<&str> = lines()
            .filter_map(|line| line.strip_prefix("- [ ] ").or_else(|| line.strip_prefix("* [ ] ")))
            .collect();
        if !boxes.is_empty() {
            return numbered(boxes);
        }
        let steps: Vec<&str> = lines()
            .filter_map(|line| {
                let (number, rest) = line.split_once(['.', ')'])?;
                let is_step = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
                rest.strip_prefix(' ').filter(|_| is_step)
            })
            .collect();
        if !steps.is_empty() { numbered(steps) } else { numbered(["Carry out plan.md"]) }
    }
}

/// One todo; `last` is the greatest id before it.
fn todo(item: &Value, last: u32) -> Result<Todo, String> {
    let next = || last.saturating_add(1);
    let (id, content, done) = match item {
        Value::Object(map) => {
            let id = match map.get("id") {
                None | Some(Value::Null) => next(),
                Some(id) => id
                    .as_u64()
                    .and_then(|id| u32::try_from(id).ok())
                    .ok_or_else(|| format!("id `{}` is not a whole number", plain(id)))?,
            };
            let content = map.get("content").unwrap_or(&Value::Null);
            let content = text(content).ok_or_else(|| format!("the content of todo `{id}` is not text"))?;
            (id, content, map.get("done").and_then(Value::as_bool).unwrap_or(false))
        }
        other => (next(), text(other).ok_or_else(|| format!("todo `{}` is not text", next()))?, false),
    };
    let content = content.trim().to_owned();
    if content.is_empty() { Err(format!("todo `{id}` is empty")) } else { Ok(Todo { id, content, done }) }
}

/// A number is a text, too, as YAML writes it; a list is none (L8).
fn text(value: &Value) -> Option<String> {
    (!value.is_array() && !value.is_object()).then(|| plain(value))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// JSON is YAML, and quotes everything that would mean something else.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match TodoList::read(text) {
            Ok(list) => list
                .todos
                .iter()
                .map(|todo| format!("{} {}", todo.id, todo.content))
                .collect::<Vec<_>>()
                .join(", "),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn a_file_of_todos_is_read() {
        for (text, expected) in [
            (
                "phase: x\ntodos:\n  - id: 1\n    content: write it\n  - id: 7\n    content: 'read: it'\n",
                "1 write it, 7 read: it",
            ),
            ("todos: [write, read]", "1 write, 2 read"),
            ("- write\n- read\n", "1 write, 2 read"),
            ("todos: []", ""),
            ("", ""),
            (
                "todos: [{id: 1, content: a}, {id: 1, content: b}]",
                "error: todos.yaml:1:30: id `1` is there twice",
            ),
            ("todos: [{id: one, content: a}]", "error: todos.yaml:1:9: id `one` is not a whole number"),
            ("todos: [{id: 1, content: ' '}]", "error: todos.yaml:1:9: todo `1` is empty"),
            (
                "todos:\n  - write\n  - {id: 1, content: read}\n",
                "error: todos.yaml:3:5: id `1` is there twice",
            ),
            ("- write\n- ''\n", "error: todos.yaml:2:3: todo `2` is empty"),
            (
                "todos:\n  - {id: 1, content: [a, b]}\n",
                "error: todos.yaml:2:5: the content of todo `1` is not text",
            ),
            (
                "todos:\n  - {id: 1, content: {a: b}}\n",
                "error: todos.yaml:2:5: the content of todo `1` is not text",
            ),
            ("- a\n- [b]\n", "error: todos.yaml:2:3: todo `2` is not text"),
            ("- 42\n- {content: 7}\n", "1 42, 2 7"),
            ("todos: soon", "error: todos.yaml:1:1: `todos` is not a list"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert!(read("todos: [").starts_with("error: todos.yaml:1:"), "{}", read("todos: ["));
    }

    #[test]
    fn a_plan_that_is_approved_has_todos() {
        for (text, expected) in [
            (Some("todos: [write]"), "1"),
            (Some("todos: []"), "todos.yaml has no todos"),
            (Some("todo: [write]"), "todos.yaml has no todos"),
            (Some("todos: soon"), "todos.yaml:1:1: `todos` is not a list"),
            (None, "todos.yaml is gone, or is no text"),
            (Some(&"- x\n".repeat(501)), "todos.yaml has 501 todos, at most 500 are taken"),
        ] {
            let read = TodoList::read_approved(text);
            let actual = read.map_or_else(|error| error, |list| list.todos.len().to_string());
            assert_eq!(actual, expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let list = TodoList {
            phase: "phase-2-tactical".into(),
            description: Some("a: b".into()),
            todos: numbered(["say \"hi\"", "- [x] odd", "# not a comment", "ü\ttab"]),
        };
        assert_eq!(TodoList::read(&list.write()), Ok(list));
    }

    #[test]
    fn a_plan_names_its_todos() {
        let of =
            |plan: &str| TodoList::of_plan(plan).iter().map(|todo| todo.content.clone()).collect::<Vec<_>>();
        assert_eq!(of("# Plan\n- [ ] one\n- [x] gone\n- [ ] two\n1. no\n"), ["one", "two"]);
        assert_eq!(of("# Plan\n1. one\n2) two\nv1.2 is no step\n"), ["one", "two"]);
        assert_eq!(of("Just do it."), ["Carry out plan.md"]);
    }
}
