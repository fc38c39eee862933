//! Docs that cannot drift: what they show is run, what can be generated is compared.
//!
//! `UPDATE_DOCS=1 cargo test -p checkrein-cli` writes what is true now.

use std::fs;
use std::path::{Path, PathBuf};

use checkrein_core::run::{TRANSITIONS, diagram};

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

#[test]
fn the_life_of_a_run_is_drawn_from_its_table() {
    let mut page = String::from(
        "# The life of a run\n\nGenerated from the table the code goes by. [runs.md](runs.md) says in words what each status means.\n",
    );
    page.push_str(&format!("\n```mermaid\n{}\n```\n", diagram()));
    page.push_str("\nWhat is not in the table is refused.\n\n| a run that is | can | and is then one of |\n|---|---|---|\n");
    for transition in TRANSITIONS {
        let to: Vec<String> = transition.to.iter().map(|status| format!("`{status}`")).collect();
        page.push_str(&format!("| `{}` | {} | {} |\n", transition.from, transition.by, to.join(", ")));
    }
    page.push_str(
        "\n*Start*, *resume* and *cancel* are commands of yours, *answer* is a verdict on its checkpoint, *pause* an\n\
         interrupt. *Finish* is the end of an attempt. *Lose* is an attempt whose process was killed: it is made again.\n",
    );
    check_file("docs/run-states.md", &page);
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
        // Ids of one session that are typed into another are found by nobody.
        for lost in ["error: there is no run", "error: there is no checkpoint", "error: there is no job"] {
            assert!(!played.contains(lost), "{name} shows `{lost}`");
        }
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
    let mut place = Place::new().env("USER", "sam");
    let mut changing = Changing::default();
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
                let typed = changing.real(typed.trim_start_matches("$ "));
                let ran = place.shell(&format!("{{ {typed}\n}} 2>&1"));
                out.push_str(&changing.shown(&ran.stdout));
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

/// What differs from one time to the next. The docs show ids and times of their own in its place, and may
/// use the ids in what is typed.
#[derive(Default)]
struct Changing {
    /// Ids of runs in the order they appeared.
    runs: Vec<String>,
}

const RUNS: [&str; 6] = [
    "20260301-120000-7kq2m",
    "20260301-120500-x3v9d",
    "20260301-121000-b8ntf",
    "20260301-121500-4hwzc",
    "20260301-122000-q6epa",
    "20260301-122500-m1rj5",
];

impl Changing {
    fn real(&self, typed: &str) -> String {
        self.runs.iter().zip(RUNS).fold(typed.to_owned(), |typed, (real, shown)| typed.replace(shown, real))
    }

    fn shown(&mut self, text: &str) -> String {
        let text = replaced(text, "dddddddd-dddddd-wwwww", |id| {
            let known = self.runs.iter().position(|run| run == id);
            let index = known.unwrap_or_else(|| {
                self.runs.push(id.to_owned());
                self.runs.len() - 1
            });
            RUNS[index].to_owned()
        });
        let text = replaced(&text, "dddd-dd-ddTdd:dd:dd", |_| "2026-03-01T12:00:00".to_owned());
        let whole = |text: String, fraction: &str| replaced(&text, fraction, |_| "00Z".to_owned());
        let text = ["00.dddZ", "00.ddZ", "00.dZ"].into_iter().fold(text, whole);
        let text = replaced(&text, "  dd:dd:dd  ", |_| "  12:00:00  ".to_owned());
        // A machine with much else to do is slower.
        let text = replaced(&text, "Duration: ds ", |_| "Duration: <1s".to_owned());
        replaced(&text, " (ds", |_| " (<1s".to_owned())
    }
}

/// In a pattern `d` is a digit, `w` a digit or small letter, and everything else itself.
fn replaced(text: &str, pattern: &str, mut by: impl FnMut(&str) -> String) -> String {
    let fits = |(found, wanted): (u8, u8)| match wanted {
        b'd' => found.is_ascii_digit(),
        b'w' => found.is_ascii_digit() || found.is_ascii_lowercase(),
        other => found == other,
    };
    let mut out = String::new();
    let mut rest = text;
    let mut chars = rest.chars();
    while let Some(next) = chars.next() {
        let head = rest.as_bytes().get(..pattern.len());
        if head.is_some_and(|head| head.iter().copied().zip(pattern.bytes()).all(fits)) {
            let (found, after) = rest.split_at(pattern.len());
            out.push_str(&by(found));
            rest = after;
        } else {
            out.push(next);
            rest = chars.as_str();
        }
        chars = rest.chars();
    }
    out
}

fn pretty_compare(name: &str, expected: &str, actual: &str) {
    for (number, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(expected, actual, "{name}:{} shows something else; see `UPDATE_DOCS=1`", number + 1);
    }
    assert_eq!(expected.lines().count(), actual.lines().count(), "{name} shows something else");
}
