//! The example workflows do what they say at their top.

use std::fs;
use std::path::PathBuf;

use crate::docs::repository;
use crate::place::Place;

fn examples() -> Vec<PathBuf> {
    let entries = fs::read_dir(repository().join("examples")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// What stands behind a word at the top of an example.
fn said<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(word)?;
    rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
}

#[test]
fn every_example_ends_as_it_says() {
    let examples = examples();
    assert!(examples.len() >= 7);
    for path in &examples {
        let mut place = Place::new();
        // Some extend others.
        for other in &examples {
            let name = other.file_name().unwrap().to_str().unwrap();
            place = place.file(name, &fs::read_to_string(other).unwrap());
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(path).unwrap();
        let exit = said(&text, "exit: ").and_then(|code| code.parse().ok());
        let ran = place.run(&["run", name]);
        assert_eq!(Some(ran.code), exit, "{name}: {}", ran.seen());

        let runs = place.run(&["runs", "--json"]).json();
        let status = runs["items"][0]["status"].as_str();
        assert_eq!(status, said(&text, "status: "), "{name}: {}", ran.seen());

        let checked = place.run(&["policy", "check", name]);
        assert_eq!(checked.code, 0, "{name}: {}", checked.seen());
    }
}

#[test]
fn every_example_is_in_the_manual() {
    let manual = fs::read_to_string(repository().join("docs/workflows.md")).unwrap();
    for path in examples() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(
            manual.contains(&format!("(../examples/{name})")),
            "docs/workflows.md has no word about {name}"
        );
    }
}
