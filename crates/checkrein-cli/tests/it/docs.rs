//! Docs that cannot drift: what they show is run, what can be generated is compared.
//!
//! `UPDATE_DOCS=1 cargo test -p checkrein-cli` writes what is true now.

use std::fs;
use std::path::{Path, PathBuf};

use crate::place::Place;

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Compares a generated file with the one in the repository.
pub fn check_file(name: &str, expected: &str) {
    let path = repository().join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, expected).unwrap();
    }
    let actual = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        actual == expected,
        "{name} is not what the code says; write it with `UPDATE_DOCS=1 cargo test -p checkrein-cli`"
    );
}

#[test]
fn the_command_reference_is_the_help() {
    let mut reference = String::from(
        "# Command reference\n\nWhat `checkrein COMMAND --help` says, generated; see the README for a tour.\n",
    );
    let mut root = checkrein_cli::command().term_width(100);
    root.build();
    describe(&mut root, 2, &mut reference);
    check_file("docs/commands.md", &reference);
}

fn describe(command: &mut clap::Command, depth: usize, out: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let help = command.render_long_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    out.push_str(&format!("\n{} {name}\n\n```text\n{}\n```\n", "#".repeat(depth), help.trim_end()));
    for sub in command.get_subcommands_mut() {
        describe(sub, depth + 1, out);
    }
}

/// Every `console` block is a session in one directory: `$ line`, then what it prints. A block that
/// is named, as in ```` ```yaml checkrein.yaml ````, is a file there.
#[test]
fn examples_in_the_docs_do_what_they_show() {
    let mut manuals = vec![repository().join("README.md")];
    for entry in fs::read_dir(repository().join("docs")).unwrap() {
        manuals.push(entry.unwrap().path());
    }
    let mut sessions = 0;
    for manual in manuals.iter().filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let name = manual.strip_prefix(repository()).unwrap().display().to_string();
        let text = fs::read_to_string(manual).unwrap();
        let (played, count) = play(&text);
        sessions += count;
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(manual, &played).unwrap();
        } else {
            pretty_compare(&name, &text, &played);
        }
    }
    assert!(sessions >= 3, "the docs show only {sessions} sessions");
}

/// The same text with the output of every session as it is now.
fn play(text: &str) -> (String, usize) {
    let mut place = Place::new();
    let mut out = String::new();
    let mut count = 0;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some(opening) = line.strip_prefix("```").filter(|opening| !opening.is_empty()) else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if opening == "console" {
            count += 1;
            for typed in body.iter().filter(|line| line.starts_with("$ ")) {
                out.push_str(&format!("{typed}\n"));
                let ran = place.shell(&format!("{{ {}\n}} 2>&1", typed.trim_start_matches("$ ")));
                out.push_str(&ran.stdout);
            }
        } else {
            if let Some((_, file)) = opening.split_once(' ') {
                place = place.file(file, &format!("{}\n", body.join("\n")));
            }
            body.iter().for_each(|line| out.push_str(&format!("{line}\n")));
        }
        out.push_str("```\n");
    }
    (out, count)
}

fn pretty_compare(name: &str, expected: &str, actual: &str) {
    for (number, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(expected, actual, "{name}:{} shows something else; see `UPDATE_DOCS=1`", number + 1);
    }
    assert_eq!(expected.lines().count(), actual.lines().count(), "{name} shows something else");
}
