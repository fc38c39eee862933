//! A person at a terminal who is asked.

use super::{scene, show, status, steps};
use crate::place::{BINARY, Place};
use crate::terminal::Terminal;

fn at_a_terminal(place: &Place, arguments: &[&str]) -> Terminal {
    // The terminal is its own, so that Ctrl-C reaches it.
    let mut command = place.command("setsid");
    command
        .args(["--ctty", BINARY])
        .args(arguments)
        .env("USER", "carla")
        .env("NO_COLOR", "1")
        .env("TERM", "xterm");
    Terminal::start(command)
}

fn found() -> Place {
    scene(
        "phases:
  build: {steps: [{id: a, run: \"echo '{\\\"warnings\\\":[{\\\"text\\\":\\\"old call\\\",\\\"severity\\\":\\\"low\\\"}],\\\"warning_analysis\\\":\\\"gone in v3\\\"}'\"}]}
  release: {steps: [{id: b, run: touch after}]}",
    )
}

const QUESTION: &str = "Check-in: build complete. Continue?";

#[test]
fn a_person_continues() {
    let place = found();
    let mut terminal = at_a_terminal(&place, &["run", "flow.yaml"]);
    terminal.until("old call").until(QUESTION).until("1) Continue").until("2) Review issues");
    terminal.until("3) Stop workflow").until("> ").press("1\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(place.path().join("after").exists());
    let id = super::only_run(&place).unwrap();
    assert_eq!(status(&place, &id), "completed_with_warnings");
    let checkpoint = place.run(&["checkpoint", "show", &format!("{id}.1"), "--json"]).json();
    assert_eq!(checkpoint["resolved_by"], "carla");
    assert!(seen.contains("WORKFLOW EXECUTION REPORT"), "{seen}");
}

#[test]
fn a_person_reviews_and_then_continues_by_word() {
    let place = found();
    let mut terminal = at_a_terminal(&place, &["run", "flow.yaml"]);
    terminal.until(QUESTION).until("> ").press("what\n").until("Please answer with a number from 1 to 3");
    terminal.until(QUESTION).until("> ").press("review\n").until("└─ Analysis: gone in v3");
    terminal.until(QUESTION).until("> ").press("Continue\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(place.path().join("after").exists());
}

#[test]
fn a_person_stops_the_workflow_and_later_goes_on() {
    let place = found();
    let mut terminal = at_a_terminal(&place, &["run", "flow.yaml"]);
    terminal.until(QUESTION).until("> ").press("3\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 5, "{seen}");
    assert!(seen.contains("WORKFLOW EXECUTION REPORT"), "{seen}");
    assert!(!place.path().join("after").exists());
    let id = super::only_run(&place).unwrap();
    assert_eq!(status(&place, &id), "paused");
    let mut terminal = at_a_terminal(&place, &["resume", &id]);
    terminal.until(QUESTION).until("> ").press("c\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(place.path().join("after").exists());
}

#[test]
fn a_person_who_leaves_has_not_answered() {
    for key in ["\u{4}", "\u{3}"] {
        let place = found();
        let mut terminal = at_a_terminal(&place, &["run", "flow.yaml"]);
        terminal.until(QUESTION).until("> ").press(key);
        let (seen, code) = terminal.end();
        assert_eq!(code, 3, "{key:?}: {seen}");
        assert!(!place.path().join("after").exists());
        let id = super::only_run(&place).unwrap();
        assert_eq!(status(&place, &id), "held");
    }
}

#[test]
fn a_gate_and_a_prompt_are_answered_at_the_terminal_too() {
    let place = scene(
        "phases:
  build:
    require_approval: true
    steps: [{id: a, run: sh found warnings high, result_handling: {on_warning: prompt}}, {id: b, run: touch after}]",
    );
    let mut terminal = at_a_terminal(&place, &["run", "flow.yaml", "--yes"]);
    terminal.until("Phase build needs an approval. Start it?").until("> ").press("1\n");
    terminal.until("Warning exceeds tolerance: high warnings 1. Continue?").until("> ").press("1\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(place.path().join("after").exists());
    let id = super::only_run(&place).unwrap();
    let prompt = place.run(&["checkpoint", "show", &format!("{id}.2"), "--json"]).json();
    assert_eq!((&prompt["type"], &prompt["resolved_by"]), (&"prompt".into(), &"carla".into()));
}

/// The deadline ends the question that is open at the terminal, and says so.
#[test]
fn a_question_ends_with_its_deadline() {
    let place = scene(
        "autonomy: {timeout: 2s, on_timeout: reject}
phases: {build: {require_approval: true, steps: [{id: a, run: touch after}]}}",
    );
    let mut terminal = at_a_terminal(&place, &["run", "flow.yaml"]);
    terminal
        .until("Start it?")
        .until("> ")
        .until("Nobody answered by 20")
        .until("it was rejected by its deadline");
    terminal.until("is paused: rejected by timeout: nobody answered in time");
    let (seen, code) = terminal.end();
    assert_eq!(code, 5, "{seen}");
    assert!(!place.path().join("after").exists());
    let id = super::only_run(&place).unwrap();
    let checkpoint = place.run(&["checkpoint", "show", &format!("{id}.1"), "--json"]).json();
    assert_eq!((&checkpoint["status"], &checkpoint["resolved_by"]), (&"rejected".into(), &"timeout".into()));
}

/// Somebody elsewhere answers; the line that is typed next answers the next question.
#[test]
fn a_question_ends_when_somebody_else_answers_it() {
    let place = scene(
        "phases: {build: {require_approval: true, steps: [{id: a, run: 'true'}]}, release: {require_approval: true, steps: [{id: b, run: touch after}]}}",
    );
    let ann = super::Ann::of(&place);
    let mut terminal = at_a_terminal(&place, &["run", "flow.yaml"]);
    terminal.until("Phase build needs an approval").until("> ");
    let id = super::only_run(&place).unwrap();
    super::expect(&ann.says(&place, &["approve", &format!("{id}.1")]), 0);
    terminal.until("Somebody was faster: it was approved by ann");
    terminal.until("Phase release needs an approval").until("> ").press("1\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(place.path().join("after").exists());
}

#[test]
fn ctrl_c_during_a_step_pauses_and_leaves_no_orphan() {
    let place = scene(&steps(&[("a", "echo $$ > pid; sleep 600 & echo $! > pid2; wait")]));
    let mut terminal = at_a_terminal(&place, &["run", "flow.yaml"]);
    super::until(|| place.path().join("pid2").exists().then_some(()));
    std::thread::sleep(std::time::Duration::from_millis(200));
    terminal.press("\u{3}");
    let (seen, code) = terminal.end();
    assert_eq!(code, 7, "{seen}");
    assert!(seen.contains("is paused"), "{seen}");
    assert!(!super::alive(&place, "pid") && !super::alive(&place, "pid2"));
    let id = super::only_run(&place).unwrap();
    assert_eq!(status(&place, &id), "paused");
}

#[test]
fn the_live_view_shows_phases_steps_and_what_was_found() {
    let place = scene(&steps(&[("a", "sh found warnings low"), ("b", "sleep 0.4")]));
    let mut terminal = at_a_terminal(&place, &["run", "flow.yaml"]);
    terminal.until("phase build").until("build:a").until("build:b · 1 warning, 0 errors so far");
    terminal.until(QUESTION).until("> ").press("1\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    let shown = show(&place, &super::only_run(&place).unwrap());
    assert_eq!(shown["phases"][0]["steps_done"], 2);
}

#[test]
fn in_a_build_service_nobody_is_asked() {
    let place = found().env("CI", "true");
    let (seen, code) = at_a_terminal(&place, &["run", "flow.yaml"]).end();
    assert_eq!(code, 3, "{seen}");
}

#[test]
fn whoever_wants_events_is_not_asked() {
    let place = found();
    let (seen, code) = at_a_terminal(&place, &["run", "flow.yaml", "--json"]).end();
    assert_eq!(code, 3, "{seen}");
    assert!(!seen.contains("1) Continue"), "{seen}");
}
