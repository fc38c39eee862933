//! Phases that start only after an approval.

use super::{Ann, asked, expect, ran, resume, scene, show, status, waits_at};
use crate::place::Place;

fn gated(autonomy: &str, phase: &str) -> Place {
    scene(&format!(
        "{autonomy}
phases:
  build: {{steps: [{{id: a, run: echo a >> done}}]}}
  release: {{{phase} steps: [{{id: b, run: echo b >> done}}]}}"
    ))
}

#[test]
fn a_gate_holds_before_the_phase_begins_whoever_asks_for_it() {
    for place in [
        gated("autonomy: {require_approval_for: [release]}", ""),
        gated("", "require_approval: true,"),
        gated("autonomy: {level: autonomous, require_approval_for: [release]}", ""),
        gated("autonomy: {pause_before_release: true}", ""),
    ] {
        let ann = Ann::of(&place);
        let (run, id) = ran(&place, &["--yes"], 3);
        assert_eq!(place.read("done"), "a\n", "{}", run.seen());
        assert_eq!(asked(&place, &id)["kind"], "gate");
        assert_eq!(asked(&place, &id)["phase"], "release");
        assert_eq!(show(&place, &id)["phases"][1]["status"], "not_run");
        ann.lets_go_on(&place, &id, 0);
        assert_eq!(place.read("done"), "a\nb\n");
    }
}

#[test]
fn resuming_does_not_get_past_a_gate() {
    let place = gated("autonomy: {require_approval_for: [release]}", "");
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &[], 3);
    resume(&place, &id, 3);
    expect(&place.run(&["resume", &id, "--yes"]), 3);
    expect(&ann.says(&place, &["reject", &waits_at(&place, &id), "-m", "not on a Friday"]), 0);
    expect(&place.run(&["resume", &id, "--yes"]), 5);
    assert_eq!(status(&place, &id), "paused");
    expect(&place.run(&["resume", &id, "--yes"]), 3);
    assert_eq!(place.read("done"), "a\n");
    ann.lets_go_on(&place, &id, 0);
    assert_eq!(place.read("done"), "a\nb\n");
}

#[test]
fn a_gate_comes_again_when_errors_send_the_run_back() {
    let place = scene(
        "autonomy: {require_approval_for: [build]}
phases:
  build: {steps: [{id: make, run: echo >> tries}]}
  evaluate: {max_retries: 1, steps: [{id: test, run: test $(wc -l < tries) = 2}]}",
    );
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &[], 3);
    ann.lets_go_on(&place, &id, 3);
    assert_eq!(asked(&place, &id)["kind"], "gate");
    ann.lets_go_on(&place, &id, 3);
    assert_eq!(asked(&place, &id)["kind"], "check_in", "what the first pass found");
    ann.lets_go_on(&place, &id, 0);
}

#[test]
fn a_gate_is_shown_in_the_inbox() {
    let place = gated("", "require_approval: true,");
    let (_, id) = ran(&place, &[], 3);
    let inbox = place.run(&["inbox"]);
    assert!(inbox.stdout.contains(&waits_at(&place, &id)), "{}", inbox.seen());
}

#[test]
fn a_single_phase_does_not_get_around_its_gate() {
    let place = gated("", "require_approval: true,");
    let (_, id) = ran(&place, &["--phase", "release", "--yes"], 3);
    assert!(!place.path().join("done").exists());
    assert_eq!(asked(&place, &id)["kind"], "gate");
}
