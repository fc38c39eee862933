//! How many findings a run lives with.

use serde_json::json;

use super::{logged, of_type, ran, scene, show, steps};

const OPEN: [&str; 5] = ["--set", "warning_tolerance=high", "--set", "error_tolerance=high", "--yes"];

#[test]
fn the_nth_finding_reaches_the_limit_and_stops() {
    for (limits, commands, expected) in [
        // By default 50 warnings and 20 errors.
        ("", &["sh found warnings low 49"][..], None),
        ("", &["sh found warnings low 50"], Some("Global limit reached: 50/50 warnings")),
        ("", &["sh found errors low 19"], None),
        ("", &["sh found errors low 20"], Some("Global limit reached: 20/20 errors")),
        (
            "",
            &["sh found warnings low 30", "sh found warnings low 30"],
            Some("Global limit reached: 60/50 warnings"),
        ),
        (
            "max_total_warnings: 3",
            &["sh found warnings low 2", "sh found warnings low"],
            Some("Global limit reached: 3/3 warnings"),
        ),
        // The other one keeps its default.
        ("max_total_warnings: 3", &["sh found errors low 19"], None),
        ("max_total_errors: 1", &["sh found errors low"], Some("Global limit reached: 1/1 errors")),
        // A limit is named before a violation.
        ("max_total_errors: 1", &["false"], Some("Global limit reached: 1/1 errors")),
    ] {
        let names = ["a", "b", "c"];
        let all: Vec<(&str, &str)> = names.into_iter().zip(commands.iter().copied()).collect();
        let place = scene(&format!("autonomy: {{limits: {{{limits}}}}}\n{}", steps(&all)));
        let (run, id) = ran(&place, &OPEN, if expected.is_some() { 4 } else { 0 });
        let shown = show(&place, &id);
        assert_eq!(shown["stopped"]["reason"].as_str(), expected, "{limits} {commands:?}");
        if let Some(reason) = expected {
            assert!(run.stderr.contains(reason), "{}", run.seen());
            assert_eq!(shown["status"], "failed");
        }
    }
}

#[test]
fn what_was_reached_is_recorded_with_both_kinds() {
    let both = r#"echo '{"warnings":["style a","style b"],"errors":["style c"]}'"#;
    let place = scene(&format!(
        "autonomy: {{limits: {{max_total_warnings: 2, max_total_errors: 1}}}}\n{}",
        steps(&[("a", both)])
    ));
    let (_, id) = ran(&place, &OPEN, 4);
    let shown = show(&place, &id);
    let reached = json!({
        "max_total_warnings": {"limit": 2, "actual": 2, "action": "stop"},
        "max_total_errors": {"limit": 1, "actual": 1, "action": "stop"},
    });
    assert_eq!(shown["limits_reached"], reached);
    assert_eq!(shown["stopped"]["reason"], "Global limit reached: 2/2 warnings", "warnings are named first");
    assert_eq!(of_type(&logged(&place, &id), "workflow-execution")[0]["limits_reached"], reached);
}

#[test]
fn without_a_limit_nothing_is_recorded() {
    let place = scene(&steps(&[("a", "true")]));
    let (_, id) = ran(&place, &[], 0);
    assert_eq!(show(&place, &id)["limits_reached"], json!({}));
}

#[test]
fn truncating_keeps_the_first_and_counts_the_rest() {
    let place = scene(&format!(
        "autonomy: {{limits: {{max_total_warnings: 3, on_limit_reached: truncate}}}}\n{}",
        steps(&[("a", "sh found warnings low 2"), ("b", "sh found warnings low 4"), ("c", "touch after")])
    ));
    let (run, id) = ran(&place, &OPEN, 0);
    assert!(place.path().join("after").exists());
    assert!(run.stderr.contains("Limit reached, truncating collection: warnings"), "{}", run.seen());
    let shown = show(&place, &id);
    assert_eq!(shown["response_totals"]["warnings"], 6, "totals are always updated");
    assert_eq!(shown["truncated"]["warnings"], 3, "{shown}");
    assert_eq!(shown["limits_reached"]["max_total_warnings"]["action"], "truncated");
}

#[test]
fn truncating_still_judges() {
    let place = scene(&format!(
        "autonomy: {{limits: {{max_total_warnings: 1, on_limit_reached: truncate}}}}\n{}",
        steps(&[("a", "sh found warnings low 2"), ("b", "sh found warnings high")])
    ));
    let (_, id) = ran(&place, &["--yes"], 4);
    assert_eq!(show(&place, &id)["stopped"]["reason"], "Warning exceeds tolerance: high warnings 1");
}

#[test]
fn a_run_that_reached_a_limit_goes_on_when_it_is_resumed() {
    let place = scene(&format!(
        "autonomy: {{limits: {{max_total_warnings: 2}}}}\n{}",
        steps(&[
            ("a", "echo a >> done; sh found warnings low 2"),
            ("b", "echo b >> done"),
            ("c", "echo c >> done")
        ])
    ));
    let (_, id) = ran(&place, &OPEN, 4);
    assert_eq!(place.read("done"), "a\n");
    place.run(&["resume", &id, "--yes"]);
    assert_eq!(place.read("done"), "a\nb\nc\n", "what reached the limit is done");
    assert_eq!(show(&place, &id)["status"], "completed_with_warnings");
}

#[test]
fn limits_below_one_or_of_a_phase_are_refused_or_ignored() {
    for (autonomy, code) in [
        ("limits: {max_total_warnings: 0}", 2),
        ("limits: {max_total_errors: -1}", 2),
        ("limits: {max_total_errors: many}", 2),
        ("limits: {max_warnings: 3}", 2),
    ] {
        let place = scene(&format!("autonomy: {{{autonomy}}}\n{}", steps(&[("a", "touch ran")])));
        let run = place.run(&["run", "flow.yaml"]);
        assert_eq!(run.code, code, "{autonomy}: {}", run.seen());
        assert!(!place.path().join("ran").exists());
    }
    let place = scene(&format!(
        "autonomy: {{overrides: {{build: {{limits: {{max_total_warnings: 1}}}}}}}}\n{}",
        steps(&[("a", "sh found warnings low 2")])
    ));
    let run = place.run(&["run", "flow.yaml", "--yes"]);
    assert!(run.stderr.contains("limits"), "{}", run.seen());
    assert!(run.code != 4, "limits are never of a phase: {}", run.seen());
}

#[test]
fn errors_of_earlier_passes_count_too() {
    let place = scene(
        "autonomy: {limits: {max_total_errors: 2}}
phases:
  build: {steps: [{id: make, run: 'true'}]}
  evaluate: {max_retries: 9, steps: [{id: test, run: 'false'}]}",
    );
    let (_, id) = ran(&place, &["--yes"], 4);
    assert_eq!(show(&place, &id)["stopped"]["reason"], "Global limit reached: 2/2 errors");
    assert_eq!(show(&place, &id)["retries"], 1);
}
