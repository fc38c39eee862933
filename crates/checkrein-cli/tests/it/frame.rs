use insta::assert_snapshot;
use serde_json::json;

use crate::place::Place;

const PUSH: &str = r#"{"potentialGoal": "Fix authentication bug", "recentMessages": 20,
    "recentFileChanges": ["src/auth/login.ts", "src/auth/token.ts"], "errorCount": 2,
    "frame": {"goal": "Write the manual"}}"#;

#[test]
fn should_push_answers_as_a_person_reads_it() {
    assert_snapshot!(Place::new().run_with(&["frame", "should-push", "--session", "abc12345"], PUSH).seen());
}

#[test]
fn should_push_answers_as_a_program_reads_it() {
    let answer = Place::new().run_with(&["frame", "should-push", "--json"], PUSH).json();
    assert_eq!(
        answer,
        json!({"should": false, "confidence": 39, "threshold": 70, "primary_reason": "context switch",
               "scores": {"failure_boundary": 60, "context_switch": 70, "complexity": 25, "duration": 0},
               "suggested_status": null})
    );
}

#[test]
fn should_pop_answers_as_a_person_and_a_program_read_it() {
    let request = r#"{"successSignals": ["tests passing", "build succeeded"], "failureSignals": ["a", "b", "c", "d"],
        "noProgressTurns": 6, "tokenCount": 95000, "contextLimit": 100000, "frame": {"goal": "Make the build pass"}}"#;
    let place = Place::new();
    assert_snapshot!(place.run_with(&["frame", "should-pop"], request).seen());
    let answer = place.run_with(&["frame", "should-pop", "--json"], request).json();
    assert_eq!((&answer["should"], &answer["suggested_status"]), (&json!(true), &json!("failed")));
}

#[test]
fn a_root_frame_is_never_popped() {
    let request = r#"{"noProgressTurns": 9, "tokenCount": 99000, "failureSignals": ["a", "b", "c", "d"],
        "frame": {"goal": "x", "has_parent": false}, "config": {"popThreshold": 1}}"#;
    let answer = Place::new().run_with(&["frame", "should-pop", "--json"], request).json();
    assert_eq!(answer["should"], json!(false));
}

#[test]
fn settings_come_from_file_environment_and_request_in_that_order() {
    let threshold = |place: &Place, request: &str| {
        place.run_with(&["frame", "should-push", "--json"], request).json()["threshold"].clone()
    };
    let place = Place::new();
    assert_eq!(threshold(&place, "{}"), 70);
    let place = place.file("checkrein.yaml", "frames: {pushThreshold: 60}\n");
    assert_eq!(threshold(&place, "{}"), 60);
    let place = place.env("FLAME_PUSH_THRESHOLD", "50");
    assert_eq!(threshold(&place, "{}"), 50);
    assert_eq!(threshold(&place, r#"{"config": {"pushThreshold": 40}}"#), 40);
}

#[test]
fn odd_settings_are_named_and_ignored() {
    let place = Place::new()
        .env("FLAME_AUTONOMY_LEVEL", "wild")
        .env("FLAME_PUSH_THRESHOLD", "many")
        .env("FLAME_ENABLED_HEURISTICS", "duration,complexty");
    assert_snapshot!(place.run_with(&["frame", "should-push"], "{}").seen());
}

#[test]
fn bad_requests_are_refused() {
    let place = Place::new();
    for (request, expected) in [
        ("", "error: request:1:1: not valid JSON: the text is empty\n"),
        ("[]", "error: request:1:1: expected a map, found a list\n"),
        (
            r#"{"errorCont": 1}"#,
            "error: request:1:2: unknown key `errorCont`\n  hint: did you mean `errorCount`?\n",
        ),
        (
            r#"{"errorCount": -1}"#,
            "error: request:1:16: errorCount: expected a whole number from 0 up, found a number `-1`\n",
        ),
    ] {
        let ran = place.run_with(&["frame", "should-push", "--json"], request);
        assert_eq!((ran.stderr.as_str(), ran.stdout.as_str(), ran.code), (expected, "", 2), "{request}");
    }
}
