//! What docs/http.md shows is sent, and answered as it shows.

use checkrein_core::principal::Role;
use serde_json::Value;

use crate::openapi::repository;
use crate::place::{Client, Place};

#[test]
fn the_requests_in_the_docs_are_answered_as_they_show() {
    let path = repository().join("docs/http.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let place = Place::making().sandboxed().user_settings("agent: claude -p").start();
    let clients = [
        ("$AGENT", place.bearer(&place.token(Role::Agent, "writer"))),
        ("$REVIEWER", place.bearer(&place.token(Role::Reviewer, "ann"))),
        ("$ADMIN", place.bearer(&place.token(Role::Admin, "root"))),
    ];
    let mut played = String::new();
    let mut lines = text.lines();
    let mut count = 0;
    while let Some(line) = lines.next() {
        played.push_str(&format!("{line}\n"));
        if line != "```curl" {
            continue;
        }
        for line in lines.by_ref().take_while(|line| *line != "```") {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            count += 1;
            played.push_str(&format!("{line}\n{}\n", calm(&send(command, &clients))));
        }
        played.push_str("```\n");
    }
    assert!(count > 8, "{count}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &played).unwrap();
    } else {
        for (number, (expected, actual)) in text.lines().zip(played.lines()).enumerate() {
            assert_eq!(
                expected,
                actual,
                "docs/http.md:{} shows something else; see `UPDATE_DOCS=1`",
                number + 1
            );
        }
        assert_eq!(text.lines().count(), played.lines().count());
    }
}

/// What curl would, and what `jq '{a, b}'` makes of it.
fn send(command: &str, clients: &[(&str, Client)]) -> Value {
    let (command, filter) = match command.split_once(" | jq ") {
        Some((command, filter)) => (command, Some(filter.trim_matches(['\'', '{', '}']))),
        None => (command, None),
    };
    let words = words(command);
    assert_eq!(words[0], "curl");
    let mut client = None;
    let mut body = None;
    let mut url = "";
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "-H" => {
                let (name, value) = rest.next().unwrap().split_once(": ").unwrap();
                match clients.iter().find(|(variable, _)| value.ends_with(variable)) {
                    Some((_, known)) => client = Some(known.clone()),
                    None => assert_eq!((name, value), ("Content-Type", "application/json")),
                }
            }
            "-d" => body = Some(rest.next().unwrap().clone()),
            word => url = word.strip_prefix("http://localhost:7117").unwrap(),
        }
    }
    let method = if body.is_some() { "POST" } else { "GET" };
    let answer = client.unwrap().send(method, url, body.as_deref()).json();
    match filter {
        None => answer,
        Some(keys) => {
            keys.split(',').map(|key| (key.trim().to_owned(), answer[key.trim()].clone())).collect()
        }
    }
}

/// A line as a shell takes it apart; there are no escapes in the docs.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// Times and ids of runs as the docs make them up.
fn calm(value: &Value) -> String {
    fn calmed(key: &str, value: &Value) -> Value {
        match value {
            Value::String(_) if key.ends_with("_at") || key == "at" => "2026-03-01T12:00:00Z".into(),
            Value::String(_) if key == "run_id" => "20260301-120000-7kq2m".into(),
            Value::Array(items) => items.iter().map(|item| calmed("", item)).collect(),
            Value::Object(map) => {
                Value::Object(map.iter().map(|(key, value)| (key.clone(), calmed(key, value))).collect())
            }
            other => other.clone(),
        }
    }
    serde_json::to_string_pretty(&calmed("", value)).unwrap()
}

#[test]
fn every_problem_is_in_the_docs() {
    let text = std::fs::read_to_string(repository().join("docs/http.md")).unwrap();
    for (_, status, slug, title) in checkrein_server::error::KINDS {
        let row = format!("| {status} | `{slug}` | {title} |");
        assert!(text.contains(&row), "{row}");
    }
}
