//! When a run checks in, what it shows, and when it needs an answer.

use serde_json::{Value, json};

use super::{
    Ann, asked, expect, lines, logged, of_type, ran, resume, scene, show, start, status, texts, waits_at,
};
use crate::place::Place;

/// Two phases with two steps each; the first of each finds something.
fn found_twice(autonomy: &str) -> Place {
    scene(&format!(
        "autonomy: {{{autonomy}}}
phases:
  build:
    steps: [{{id: a, run: sh found warnings low 2}}, {{id: b, run: 'true'}}]
  release:
    steps: [{{id: c, run: sh found warnings low}}, {{id: d, run: 'true'}}]"
    ))
}

/// Where a run stops to ask, until it is done.
fn questions(place: &Place) -> Vec<String> {
    let ann = Ann::of(place);
    let (run, id) = start(place, &[]);
    let mut questions = Vec::new();
    let mut code = run.code;
    while code == 3 {
        let asked = asked(place, &id);
        let at = ["step", "phase"].iter().find_map(|key| asked[*key].as_str()).unwrap_or("workflow");
        questions.push(format!("{at} {}", asked["counts"]["warnings"]));
        expect(&ann.says(place, &["approve", &waits_at(place, &id)]), 0);
        code = place.run(&["resume", &id]).code;
    }
    assert_eq!(code, 0);
    assert_eq!(status(place, &id), "completed_with_warnings");
    questions
}

#[test]
fn per_step_stops_after_each_step_that_has_findings() {
    assert_eq!(questions(&found_twice("check_in_frequency: per-step")), ["build:a 2", "release:c 1"]);
}

#[test]
fn per_step_with_ask_always_stops_after_every_step() {
    assert_eq!(
        questions(&found_twice("check_in_frequency: per-step, ask: always")),
        ["build:a 2", "build:b 0", "release:c 1", "release:d 0"]
    );
}

#[test]
fn per_phase_stops_after_each_phase_that_has_findings() {
    assert_eq!(questions(&found_twice("check_in_frequency: per-phase")), ["build 2", "release 1"]);
}

#[test]
fn per_phase_is_the_default() {
    assert_eq!(questions(&found_twice("")), ["build 2", "release 1"]);
}

#[test]
fn end_only_stops_once_at_the_end_and_shows_everything() {
    assert_eq!(questions(&found_twice("check_in_frequency: end-only")), ["workflow 3"]);
}

#[test]
fn a_phase_may_check_in_more_often_than_the_rest() {
    let often = "check_in_frequency: end-only, overrides: {release: {check_in_frequency: per-step}}";
    assert_eq!(questions(&found_twice(often)), ["release:c 3"]);
}

#[test]
fn a_check_in_without_findings_is_recorded_and_goes_on() {
    let place = scene("phases: {build: {steps: [{id: a, run: 'true'}]}}");
    let (run, id) = ran(&place, &["--json"], 0);
    let events = lines(&run.stdout);
    let checked: Vec<&Value> = events.iter().filter(|event| event["event"] == "checked_in").collect();
    assert_eq!(checked.len(), 1);
    assert_eq!((&checked[0]["warnings"], &checked[0]["phase"]), (&json!(0), &json!("build")));
    let last = &show(&place, &id)["last_check_in"];
    assert_eq!((&last["seq"], &last["phase"]), (&checked[0]["seq"], &json!("build")));
}

#[test]
fn an_unknown_frequency_is_refused_and_nothing_runs() {
    let place = found_twice("check_in_frequency: hourly");
    let run = place.run(&["run", "flow.yaml"]);
    assert_eq!(run.code, 2, "{}", run.seen());
    assert!(run.stderr.contains("unknown check_in_frequency `hourly`"), "{}", run.seen());
    assert!(!place.run(&["runs", "--json"]).stdout.contains("run_id"));
}

#[test]
fn a_check_in_shows_phase_step_findings_artifacts_and_actions() {
    let found = r#"echo '{"warnings":[{"text":"old call","severity":"low","suggested_fix":{"description":"Use the new one","command":"sed -i s/a/b/ x"}}],"errors":[],"warning_analysis":"gone in v3","artifacts":["dist/app"]}'"#;
    let place = scene(&format!(
        "id: ship\nautonomy: {{check_in_frequency: per-step}}\n{}",
        super::steps(&[("implement", found)])
    ));
    let (run, id) = ran(&place, &[], 3);
    let asked = asked(&place, &id);
    for (key, expected) in [
        ("run_id", json!(id)),
        ("workflow_id", json!("ship")),
        ("kind", json!("check_in")),
        ("question", json!("Check-in: build:implement complete. Continue?")),
        ("phase", json!("build")),
        ("step", json!("build:implement")),
        ("counts", json!({"warnings": 1, "errors": 0})),
        ("artifacts", json!(["dist/app"])),
    ] {
        assert_eq!(asked[key], expected, "{key}: {asked}");
    }
    assert_eq!(asked["warnings"][0]["text"], "old call");
    assert_eq!(asked["warnings"][0]["analysis"], "gone in v3");
    assert_eq!(asked["recommended_actions"][0]["command"], "sed -i s/a/b/ x", "{asked}");
    // Whoever reads the terminal afterwards knows what to do.
    for text in [&format!("checkrein approve {}", waits_at(&place, &id)), &format!("checkrein resume {id}")] {
        assert!(run.stderr.contains(text.as_str()), "{text}: {}", run.seen());
    }
}

#[test]
fn findings_are_shown_since_the_last_check_in_only() {
    let place = found_twice("check_in_frequency: per-phase");
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &[], 3);
    assert_eq!(texts(&asked(&place, &id)["warnings"], "text"), ["low warnings 1", "low warnings 2"]);
    assert_eq!(texts(&asked(&place, &id)["warnings"], "step_id"), ["build:a", "build:a"]);
    ann.lets_go_on(&place, &id, 3);
    assert_eq!(texts(&asked(&place, &id)["warnings"], "step_id"), ["release:c"]);
    assert_eq!(asked(&place, &id)["totals"]["warnings"], 3, "totals are of the whole run");
}

#[test]
fn a_held_run_makes_no_progress_without_a_verdict() {
    let place = found_twice("check_in_frequency: per-step");
    let (_, id) = ran(&place, &[], 3);
    // All but how long it has been there by now.
    let shown = || -> Vec<String> {
        let stdout = place.run(&["show", &id]).stdout;
        stdout.lines().filter(|line| !line.starts_with("duration")).map(str::to_owned).collect()
    };
    let before = shown();
    for _ in 0..3 {
        resume(&place, &id, 3);
    }
    assert_eq!(shown(), before);
    assert_eq!(logged(&place, &id).len(), 1);
}

#[test]
fn yes_answers_check_ins_and_says_who_did() {
    let place = found_twice("check_in_frequency: per-step, ask: always");
    let (_, id) = ran(&place, &["--yes"], 0);
    let shown = place.run(&["checkpoint", "show", &format!("{id}.1"), "--json"]).json();
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("approved"), &json!("--yes")));
    assert_eq!(of_type(&logged(&place, &id), "workflow-execution").len(), 1);
}

#[test]
fn a_rejected_check_in_pauses_the_run_and_is_asked_again_on_resume() {
    let place = found_twice("check_in_frequency: per-phase");
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &[], 3);
    let first = waits_at(&place, &id);
    expect(&ann.says(&place, &["reject", &first, "-m", "not yet"]), 0);
    // Whoever takes it up learns of the verdict.
    let told = resume(&place, &id, 5);
    assert!(told.stdout.contains("low warnings 1"), "the report is printed: {}", told.seen());
    assert_eq!(status(&place, &id), "paused");
    let again = resume(&place, &id, 3);
    assert!(again.stderr.contains("Check-in: build complete. Continue?"), "{}", again.seen());
    let second = waits_at(&place, &id);
    assert_ne!(first, second);
    let shown = |id: &str| place.run(&["checkpoint", "show", id, "--json"]).json();
    assert_eq!((&shown(&first)["status"], &shown(&first)["reason"]), (&json!("rejected"), &json!("not yet")));
    assert_eq!((&shown(&second)["status"], &shown(&second)["round"]), (&json!("pending"), &json!(2)));
    // The old question is over, whatever is said to it now.
    expect(&ann.says(&place, &["approve", &first]), 6);
    ann.lets_go_on(&place, &id, 3);
    assert_eq!(asked(&place, &id)["phase"], "release");
}

#[test]
fn there_is_nothing_to_change_in_a_check_in() {
    let place = found_twice("");
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &[], 3);
    let refused = ann.says(&place, &["request-changes", &waits_at(&place, &id), "-m", "other colours"]);
    expect(&refused, 2);
    assert_eq!(status(&place, &id), "held");
    resume(&place, &id, 3);
}

#[test]
fn what_a_hook_found_is_asked_about_at_the_next_step() {
    let place = scene(
        "autonomy: {check_in_frequency: per-step}
phases: {build: {steps: [{id: a, run: 'true'}, {id: b, run: 'true'}]}}
hooks: {pre_build: [{name: h, run: sh found warnings low}]}",
    );
    assert_eq!(questions(&place), ["build:a 1"]);
}

#[test]
fn a_check_in_and_the_gate_behind_it_are_two_questions() {
    let place = found_twice("require_approval_for: [release]");
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &[], 3);
    assert_eq!(
        (&asked(&place, &id)["kind"], &asked(&place, &id)["phase"]),
        (&json!("check_in"), &json!("build"))
    );
    ann.lets_go_on(&place, &id, 3);
    assert_eq!(
        (&asked(&place, &id)["kind"], &asked(&place, &id)["phase"]),
        (&json!("gate"), &json!("release"))
    );
    assert_eq!(asked(&place, &id)["counts"]["warnings"], 0, "what was shown is not shown again");
}
