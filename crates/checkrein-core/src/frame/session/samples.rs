//! Sessions of coding agents, an event a line, and how many suggestions each gets. The recommended settings
//! are chosen on them.

use serde_json::json;

use super::tests::Desk;
use crate::config::{CheckreinFile, Owner};
use crate::document::{Document, Format};
use crate::frame::signals::{Observation, ToolUse, Usage};
use crate::frame::{FrameConfigPatch, RECOMMENDED_YAML};
use crate::policy::Reading;

/// A client sends its whole context with every call, so that tokens add up quickly.
const TOKENS_PER_CALL: u64 = 40_000;
const CALL_MS: u64 = 30_000;

/// One goal, and a compiler that never agrees: 42 calls, 14 errors, 1.7 million tokens.
const STUCK: &str = "
    > Port the scheduler to the new runtime
    look*6 edit:src/scheduler.rs fail edit:src/queue.rs fail look*2 edit:src/scheduler.rs fail look fail
    edit:src/timer.rs fail look*2 edit:src/queue.rs fail fail look*4 edit:src/scheduler.rs fail look fail
    edit:src/queue.rs fail look*2 fail edit:src/timer.rs fail look fail look fail";

/// The same, and a person who asks about it.
const STUCK_WITH_QUESTION: &str = "
    > Port the scheduler to the new runtime
    look*5 edit:src/scheduler.rs fail edit:src/queue.rs fail look fail edit:src/timer.rs fail look fail
    > Why does the borrow checker complain here?
    look*4 edit:src/queue.rs fail look fail edit:src/timer.rs fail look*2 fail look*3 edit:src/queue.rs fail
    look fail edit:src/timer.rs fail fail fail look*3";

/// The same in other words: one that we put before an error ourselves, and all that errors say.
const STUCK_FIXING: &str = "
    > Fix the scheduler
    look*6 edit:src/scheduler.rs fail edit:src/queue.rs fail look*2 edit:src/scheduler.rs fail look fail
    edit:src/timer.rs fail look*2 edit:src/queue.rs fail fail look*4 edit:src/scheduler.rs fail look fail
    edit:src/queue.rs fail look*2 fail edit:src/timer.rs fail look fail look fail";
const STUCK_ON_TYPES: &str = "
    > Fix the error with mismatched types
    look*6 edit:src/scheduler.rs fail look fail look*2 edit:src/scheduler.rs fail look fail
    look fail look*2 edit:src/scheduler.rs fail fail look*4 edit:src/scheduler.rs fail look fail
    look fail look*2 fail look fail look fail look fail";

/// Errors that are fixed one after the other.
const FIXING: &str = "
    > Fix the failing tests
    look*4 edit:src/list.rs fail edit:src/list.rs fail edit:src/list.rs pass look*3
    > Now fix the warnings as well
    look*2 edit:src/output.rs fail edit:src/output.rs fail edit:src/output.rs pass
    > Update the snapshots
    look*3 edit:tests/list.rs fail edit:tests/list.rs pass look*4";

/// A feature, with the errors that are part of any work.
const FEATURE: &str = "
    > Add a --json option to the list command
    look*6 edit:src/list.rs edit:src/output.rs fail edit:src/output.rs fail edit:src/list.rs pass
    > Please add tests too
    look*2 edit:tests/list.rs fail edit:tests/list.rs pass
    > And a line in the changelog
    edit:CHANGELOG.md look";

/// Many files, hardly an error, and requests that share no word.
const REFACTORING: &str = "
    > Rename Worker to Runner everywhere
    look*4 edit:a.rs edit:b.rs edit:c.rs edit:d.rs edit:e.rs edit:f.rs edit:g.rs fail edit:a.rs pass
    > Looks good, now check the docs
    look*5 edit:docs/a.md edit:docs/b.md
    > Commit this
    look*2";

/// Questions and answers, nothing changes.
const READING: &str = "
    > How does the lexer handle comments?
    look*9
    > Which callers depend on that?
    look*8 fail look*3
    > Thanks, what about nested ones?
    look*6";

#[test]
fn stuck_sessions_get_one_or_two_suggestions_and_ordinary_ones_none() {
    for (name, session, calls, by_default, recommended) in [
        ("stuck", STUCK, 42, 0, 1),
        ("stuck with a question", STUCK_WITH_QUESTION, 42, 0, 2),
        ("stuck while fixing", STUCK_FIXING, 42, 0, 1),
        ("stuck on what it is to fix", STUCK_ON_TYPES, 42, 0, 1),
        ("fixing", FIXING, 32, 0, 0),
        ("feature", FEATURE, 21, 0, 0),
        ("refactoring", REFACTORING, 23, 0, 0),
        ("reading", READING, 27, 0, 0),
    ] {
        // A little more or less of anything changes nothing.
        let nearly = |by: f64| {
            let settings = recommended_settings();
            FrameConfigPatch {
                push_threshold: settings.push_threshold.map(|threshold| threshold + by),
                ..settings
            }
        };
        for (settings, patch, expected) in [
            ("defaults", FrameConfigPatch::default(), by_default),
            ("recommended", recommended_settings(), recommended),
            ("a lower threshold", nearly(-2.0), recommended),
            ("a higher threshold", nearly(2.0), recommended),
        ] {
            let mut desk = Desk::new(json!(patch));
            assert_eq!(play(&mut desk, session), calls, "{name}");
            let texts: Vec<String> =
                desk.session.suggestions.iter().map(|suggestion| suggestion.text()).collect();
            assert_eq!(texts.len(), expected, "{name} with {settings}: {texts:#?}");
        }
    }
}

#[test]
fn what_keeps_failing_is_a_short_goal() {
    let mut desk = Desk::new(json!(recommended_settings()));
    desk.observe(Observation::Prompt("Fix the build".to_owned()));
    for _ in 0..6 {
        let error = Some(format!("error: {}\n  --> src/main.rs:1:1", "mismatched types ".repeat(20)));
        desk.observe(Observation::Tool(ToolUse { name: "Bash".to_owned(), error, ..ToolUse::default() }));
    }
    let goal = desk.session.potential_goal().unwrap();
    assert!(goal.starts_with("Fix Bash: error: mismatched types"), "{goal}");
    assert!(goal.chars().count() <= 80 && !goal.contains('\n'), "{goal}");
}

/// Plays a session; how many calls of tools it had.
fn play(desk: &mut Desk, session: &str) -> usize {
    let mut calls = 0;
    for line in session.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(prompt) = line.strip_prefix("> ") {
            desk.observe(Observation::Prompt(prompt.to_owned()));
            continue;
        }
        for word in line.split_whitespace() {
            let (word, times) = word.split_once('*').unwrap_or((word, "1"));
            for _ in 0..times.parse().unwrap() {
                calls += 1;
                desk.now_ms += CALL_MS;
                desk.observe(Observation::Messages(1));
                desk.observe(Observation::Usage(Usage {
                    spent: TOKENS_PER_CALL,
                    context: 60_000,
                    limit: 200_000,
                }));
                desk.observe(Observation::Tool(tool(word, calls)));
            }
        }
    }
    calls
}

fn tool(word: &str, call: usize) -> ToolUse {
    let (name, rest) = word.split_once(':').unwrap_or((word, ""));
    let mut tool = ToolUse { name: "Bash".to_owned(), ..ToolUse::default() };
    match name {
        "look" => tool.name = "Read".to_owned(),
        "edit" => {
            tool.name = "Edit".to_owned();
            tool.files = vec![rest.to_owned()];
        }
        "fail" => tool.error = Some(format!("error[E{:04}]: mismatched types", 300 + call)),
        "pass" => tool.success = Some("tests passing".to_owned()),
        other => panic!("`{other}` is no event"),
    }
    tool
}

fn recommended_settings() -> FrameConfigPatch {
    let document = Document::parse("recommended.yaml", RECOMMENDED_YAML, Format::Yaml).unwrap();
    let read = CheckreinFile::read(&document.into(), Owner::Project, Reading::Strict);
    let (file, problems) = read.unwrap();
    assert!(problems.0.is_empty(), "{problems:?}");
    file.shape.frames
}
