//! Which findings a run lives with.

use serde_json::json;

use super::{ran, scene, show, start, steps};

#[test]
fn every_tolerance_meets_every_severity() {
    let tolerances = ["none", "low", "medium", "high"];
    for (kind, setting, name) in
        [("warnings", "warning_tolerance", "Warning"), ("errors", "error_tolerance", "Error")]
    {
        for (tolerance, tolerated) in tolerances.iter().zip(0..) {
            for (severity, rank) in ["low", "medium", "high"].iter().zip(1..) {
                let command = format!("sh found {kind} {severity}");
                let place = scene(&steps(&[("a", &command), ("b", "touch after")]));
                let (run, id) = start(&place, &["--set", &format!("{setting}={tolerance}"), "--yes"]);
                let goes_on = rank <= tolerated;
                let about = format!("{kind} {severity} with {tolerance}: {}", run.seen());
                assert_eq!(run.code, if goes_on { 0 } else { 4 }, "{about}");
                assert_eq!(place.path().join("after").exists(), goes_on, "{about}");
                let reason = format!("{name} exceeds tolerance: {severity} {kind} 1");
                assert_eq!(run.stderr.contains(&reason), !goes_on, "{about}");
                let status = if goes_on { "completed_with_warnings" } else { "failed" };
                assert_eq!(show(&place, &id)["status"], status, "{about}");
                // Tolerated or not, it is in the report.
                assert!(run.stdout.contains(&format!("{severity} {kind} 1")), "{about}");
            }
        }
    }
}

#[test]
fn warnings_and_errors_have_tolerances_of_their_own() {
    for (warning, error, code) in [("medium", "none", 4), ("none", "medium", 4), ("medium", "medium", 0)] {
        let place = scene(&steps(&[("a", "sh found warnings medium"), ("b", "sh found errors medium")]));
        let warning = format!("warning_tolerance={warning}");
        let error = format!("error_tolerance={error}");
        ran(&place, &["--set", &warning, "--set", &error, "--yes"], code);
    }
}

#[test]
fn without_settings_low_warnings_and_no_errors_are_tolerated() {
    for (command, code) in
        [("sh found warnings low", 0), ("sh found warnings medium", 4), ("sh found errors low", 4)]
    {
        ran(&scene(&steps(&[("a", command)])), &["--yes"], code);
    }
}

#[test]
fn a_phase_may_be_stricter_than_the_rest() {
    let place = scene(
        "autonomy: {warning_tolerance: medium, overrides: {evaluate: {warning_tolerance: none}}}
phases:
  build: {steps: [{id: a, run: sh found warnings medium}]}
  evaluate: {steps: [{id: b, run: sh found warnings low}]}",
    );
    let (_, id) = ran(&place, &["--yes"], 4);
    let shown = show(&place, &id);
    assert_eq!(shown["stopped"]["reason"], "Warning exceeds tolerance: low warnings 1");
    assert_eq!(shown["phases"][0]["status"], "warning");
    assert_eq!(shown["phases"][1]["status"], "failure");
}

#[test]
fn the_last_of_several_that_exceed_is_named_and_an_error_before_a_warning() {
    let both = r#"echo '{"warnings":[{"text":"w","severity":"high"}],"errors":[{"text":"e1","severity":"high"},{"text":"e2","severity":"high"}]}'"#;
    for (command, reason, all) in [
        (
            "sh found warnings high 3",
            "Warning exceeds tolerance: high warnings 3",
            &["high warnings 1", "high warnings 2", "high warnings 3"][..],
        ),
        (both, "Error exceeds tolerance: e2", &["e1", "e2", "w"]),
    ] {
        let place = scene(&steps(&[("a", command)]));
        let (run, id) = ran(&place, &["--json"], 4);
        assert_eq!(show(&place, &id)["stopped"]["reason"], reason);
        let events = super::lines(&run.stdout);
        let decided = events.iter().find(|event| event["event"] == "decided").unwrap();
        let because = decided["because"].to_string();
        for text in all {
            assert!(because.contains(text), "{text}: {because}");
        }
    }
}

#[test]
fn a_status_is_not_judged_but_its_items_are() {
    let place = scene(&steps(&[(
        "a",
        r#"echo '{"status":"success","warnings":[{"text":"hidden","severity":"high"}]}'"#,
    )]));
    ran(&place, &["--yes"], 4);
}

#[test]
fn an_unknown_tolerance_is_refused_and_nothing_runs() {
    let place = scene(&format!("autonomy: {{warning_tolerance: plenty}}\n{}", steps(&[("a", "touch ran")])));
    let run = place.run(&["run", "flow.yaml", "--yes"]);
    assert_eq!(run.code, 2, "{}", run.seen());
    assert!(run.stderr.contains("unknown warning_tolerance `plenty`"), "{}", run.seen());
    assert!(!place.path().join("ran").exists());
}

#[test]
fn totals_count_every_finding_tolerated_or_not() {
    let place = scene(&steps(&[
        ("a", "sh found warnings low 2"),
        ("b", "sh found errors low"),
        ("c", "sh found warnings high"),
    ]));
    let (_, id) = ran(&place, &["--set", "error_tolerance=low", "--yes"], 4);
    assert_eq!(
        show(&place, &id)["response_totals"],
        json!({"warnings": 3, "errors": 1, "by_severity": {"low": 3, "medium": 0, "high": 1}})
    );
}
