use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::place::Place;

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Compares a generated file with the one in the repository.
pub fn check_file(name: &str, expected: &str) {
    let path = repository().join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let actual = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        actual == expected,
        "{name} is not what the code says; write it with `UPDATE_DOCS=1 cargo test -p checkrein-server`"
    );
}

#[test]
fn the_description_in_the_docs_is_that_of_the_code() {
    let text = serde_json::to_string_pretty(&checkrein_server::openapi()).unwrap();
    check_file("docs/openapi.json", &format!("{text}\n"));
}

#[test]
fn the_server_describes_itself() {
    let place = Place::new();
    let answer = place.client().get("/v1/openapi.json").expect(200);
    assert_eq!(answer.json(), checkrein_server::openapi());
}

#[test]
fn everything_that_is_referred_to_is_there_and_every_name_is_one() {
    let document = checkrein_server::openapi();
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 50);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference}"));
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    for name in schemas.keys() {
        assert!(name.chars().all(plain), "{name}");
    }
    let mut ids = Vec::new();
    for operation in
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
    {
        ids.push(operation["operationId"].as_str().unwrap().to_owned());
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{operation}");
    }
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all, "an operation has a name of its own");
}

fn collect(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str().filter(|_| key == "$ref") {
                    Some(reference) => out.push(reference.to_owned()),
                    None => collect(value, out),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
        _ => {}
    }
}
