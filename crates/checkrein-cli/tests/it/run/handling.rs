//! What is done about a finding that is not tolerated: step, phase and workflow say.

use super::{Ann, asked, expect, ran, resume, scene, show, start, status, waits_at};
use crate::place::Place;

/// A workflow where each level says something about warnings, or nothing.
fn layered(workflow: &str, phase: &str, step: &str) -> Place {
    let said = |word: &str| match word {
        "" => String::new(),
        word => format!("result_handling: {{on_warning: {word}}},"),
    };
    let workflow = match workflow {
        "" => String::new(),
        word => format!("result_handling: {{on_warning: {word}}}\n"),
    };
    scene(&format!(
        "{workflow}phases:
  build: {{{} steps: [{{id: a, {} run: sh found warnings medium}}, {{id: b, run: touch after}}]}}",
        said(phase),
        said(step)
    ))
}

#[test]
fn the_step_is_stronger_than_its_phase_and_that_than_the_workflow() {
    for (workflow, phase, step, code) in [
        ("", "", "", 4),
        ("continue", "", "", 0),
        ("stop", "continue", "", 0),
        ("continue", "stop", "", 4),
        ("stop", "stop", "continue", 0),
        ("continue", "continue", "stop", 4),
        ("continue", "continue", "prompt", 3),
        ("prompt", "", "", 3),
        ("prompt", "", "continue", 0),
    ] {
        let place = layered(workflow, phase, step);
        let (run, _) = start(&place, &["--yes"]);
        assert_eq!(run.code, code, "{workflow}/{phase}/{step}: {}", run.seen());
        assert_eq!(place.path().join("after").exists(), code == 0);
    }
}

#[test]
fn handling_is_asked_only_about_what_is_not_tolerated() {
    let place = scene(
        "phases: {build: {steps: [{id: a, run: sh found warnings low, result_handling: {on_warning: stop}}]}}",
    );
    ran(&place, &["--yes"], 0);
}

#[test]
fn a_prompt_without_a_terminal_holds_and_yes_does_not_answer_it() {
    let place = layered("", "", "prompt");
    let ann = Ann::of(&place);
    let (run, id) = ran(&place, &["--yes"], 3);
    assert!(run.stderr.contains("Warning exceeds tolerance: medium warnings 1"), "{}", run.seen());
    assert_eq!(asked(&place, &id)["kind"], "prompt");
    expect(&place.run(&["resume", &id, "--yes"]), 3);
    assert!(!place.path().join("after").exists());
    // What a prompt showed is not a check-in, so the phase's check-in follows.
    ann.lets_go_on(&place, &id, 3);
    assert!(place.path().join("after").exists());
    ann.lets_go_on(&place, &id, 0);
    assert_eq!(status(&place, &id), "completed_with_warnings");
}

#[test]
fn a_rejected_prompt_pauses_and_is_asked_again() {
    let place = layered("", "", "prompt");
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &[], 3);
    expect(&ann.says(&place, &["reject", &waits_at(&place, &id), "-m", "no"]), 0);
    resume(&place, &id, 5);
    assert_eq!(status(&place, &id), "paused");
    resume(&place, &id, 3);
    assert_eq!(asked(&place, &id)["round"], 2);
}

#[test]
fn a_failed_step_always_stops_and_a_configured_continue_is_ignored_with_a_warning() {
    let place = scene(
        "phases: {build: {steps: [{id: a, run: 'false', result_handling: {on_failure: continue}}, {id: b, run: touch after}]}}",
    );
    let (run, _) = ran(&place, &["--yes"], 4);
    assert!(run.stderr.contains("on_failure"), "{}", run.seen());
    assert!(!place.path().join("after").exists());
    expect(&place.run(&["policy", "check", "flow.yaml"]), 2);
}

#[test]
fn a_failed_hook_stops_unless_it_says_otherwise() {
    for (said, code) in [
        ("", 4),
        ("result_handling: {on_failure: stop}", 4),
        ("result_handling: {on_failure: continue}", 0),
        ("on_error: continue", 0),
        ("on_error: fail", 4),
    ] {
        let place = scene(&format!(
            "phases: {{build: {{steps: [{{id: a, run: touch after}}]}}}}\nhooks: {{pre_build: [{{name: h, run: 'false', {said}}}]}}"
        ));
        let (run, id) = start(&place, &["--yes"]);
        assert_eq!(run.code, code, "{said}: {}", run.seen());
        assert_eq!(place.path().join("after").exists(), code == 0, "{said}");
        assert_eq!(show(&place, &id)["response_totals"]["errors"], 1, "{said}");
    }
}

#[test]
fn a_hook_that_may_fail_does_not_hide_a_warning_that_must_stop() {
    let place = scene(
        r#"phases: {build: {steps: [{id: a, run: touch after}]}}
hooks:
  pre_build:
    - name: h
      run: |
        echo '{"warnings":[{"text":"w","severity":"high"}],"errors":[{"text":"e","severity":"high"}]}'
      result_handling: {on_failure: continue}"#,
    );
    let (_, id) = ran(&place, &["--yes"], 4);
    assert_eq!(show(&place, &id)["stopped"]["reason"], "Warning exceeds tolerance: w");
}
