//! The records a run leaves, whatever its end.

use std::fs;

use serde_json::{Value, json};

use super::{
    Ann, data, expect, id_of, lines, logged, of_type, ran, resume, scene, show, start, steps, waits_at,
};
use crate::place::Place;

#[test]
fn a_summary_is_written_at_the_end_with_all_its_parts() {
    let place = scene(
        "id: ship
phases:
  build: {steps: [{id: a, run: sh found warnings low 2}, {id: b, run: 'true'}]}
  release: {enabled: false, steps: [{id: c, run: 'true'}]}",
    );
    let (_, id) = ran(&place, &["--yes", "--target", "feat/x", "--work-id", "237"], 0);
    let records = logged(&place, &id);
    let summaries = of_type(&records, "workflow-execution");
    assert_eq!(summaries.len(), 1);
    let summary = &summaries[0];
    let refs: Vec<Value> =
        of_type(&records, "step-response").iter().map(|one| one["response_id"].clone()).collect();
    for (key, expected) in [
        ("workflow_id", json!("ship")),
        ("run_id", json!(id)),
        ("target", json!("feat/x")),
        ("work_id", json!("237")),
        ("final_status", json!("completed_with_warnings")),
        (
            "phases_summary",
            json!({
                "build": {"status": "warning", "steps": 2, "warnings": 2, "errors": 0},
                "release": {"status": "skipped", "steps": 0, "warnings": 0, "errors": 0},
            }),
        ),
        ("step_response_refs", json!(refs)),
    ] {
        assert_eq!(summary[key], expected, "{key}");
    }
    let totals = &summary["totals"];
    assert_eq!((&totals["warnings"], &totals["errors"]), (&json!(2), &json!(0)));
    assert_eq!(totals["warnings_by_severity"], json!({"low": 2, "medium": 0, "high": 0}));
    assert_eq!(totals["warnings_by_category"], json!({"style": 2}));
    let time = |key: &str| summary[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(time("started_at") <= time("completed_at"));
    assert!(summary["duration_ms"].is_u64());
    let shown = show(&place, &id);
    assert_eq!(shown["logs"], json!({"step_responses": refs, "workflow_execution": summary["log_id"]}));
    assert_eq!(
        shown["response_totals"],
        json!({"warnings": 2, "errors": 0, "by_severity": {"low": 2, "medium": 0, "high": 0}})
    );
    assert_eq!((&shown["limits_reached"], &shown["last_check_in"]["phase"]), (&json!({}), &json!("build")));
    // What the file holds is what the store tells.
    assert_eq!(lines(&place.run(&["log", &id, "--json"]).stdout), records);
}

/// The final status of every summary of a run.
fn ends(place: &Place, id: &str) -> Vec<String> {
    let summaries = of_type(&logged(place, id), "workflow-execution");
    summaries.iter().map(|one| one["final_status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_end_is_written_down() {
    // Clean.
    let place = scene(&steps(&[("a", "true")]));
    let (_, id) = ran(&place, &[], 0);
    assert_eq!(ends(&place, &id), ["completed"]);
    // Failed, then mended and completed.
    let place = scene(&steps(&[("a", "test -f mended")]));
    let (_, id) = ran(&place, &[], 4);
    assert_eq!(ends(&place, &id), ["failed"]);
    assert!(of_type(&logged(&place, &id), "workflow-execution")[0]["reason"].is_string());
    fs::write(place.path().join("mended"), "").unwrap();
    place.run(&["resume", &id, "--yes"]);
    assert_eq!(ends(&place, &id), ["failed", "completed_with_warnings"]);
    // Paused by a rejection, then cancelled.
    let place = scene(&steps(&[("a", "sh found warnings low")]));
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &[], 3);
    assert!(ends(&place, &id).is_empty(), "a hold is not an end");
    expect(&ann.says(&place, &["reject", &waits_at(&place, &id), "-m", "no"]), 0);
    resume(&place, &id, 5);
    assert_eq!(ends(&place, &id), ["paused"]);
    expect(&place.run(&["cancel", &id]), 0);
    assert_eq!(ends(&place, &id), ["paused", "cancelled"]);
    let shown = show(&place, &id);
    let last = of_type(&logged(&place, &id), "workflow-execution").pop().unwrap();
    assert_eq!(shown["logs"]["workflow_execution"], last["log_id"]);
}

#[test]
fn a_log_that_cannot_be_written_is_kept_elsewhere_and_the_run_goes_on() {
    for blocked in ["logs", "runs"] {
        let place = scene(&steps(&[("a", "echo hello; sh found warnings low"), ("b", "touch after")]));
        let temporary = place.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        let place = place.env("TMPDIR", temporary.to_str().unwrap());
        fs::create_dir_all(data(&place, "")).unwrap();
        fs::write(data(&place, blocked), "not a directory").unwrap();
        let (run, id) = ran(&place, &["--yes"], 0);
        assert!(place.path().join("after").exists());
        assert!(run.stderr.contains("warning: ") && run.stderr.contains(blocked), "{}", run.seen());
        // Nothing is lost: the store tells it all, and the file is where the warning says.
        let told = lines(&place.run(&["log", &id, "--json"]).stdout);
        assert_eq!(told.len(), 3, "{blocked}");
        let found = place
            .shell(&format!("cat tmp/*/logs/{id}.jsonl || cat home/.local/share/checkrein/logs/{id}.jsonl"));
        assert_eq!(lines(&found.stdout), told, "{}", found.seen());
        assert!(place.run(&["log", &id]).stdout.contains("hello"), "{blocked}");
    }
}

#[test]
fn nowhere_to_write_does_not_fail_a_run_either() {
    let place = scene(&steps(&[("a", "touch after")]))
        .file("tmp", "a file")
        .file("home/.local/share/checkrein/logs", "a file");
    let temporary = place.path().join("tmp").to_str().unwrap().to_owned();
    let run = place.run_env(&[("TMPDIR", &temporary)], &["run", "flow.yaml"]);
    assert!(run.stderr.contains("the log `") && run.stderr.contains("cannot be written"), "{}", run.seen());
    expect(&run, 0);
    assert!(place.path().join("after").exists());
}

#[test]
fn the_output_of_steps_can_be_read_again() {
    let place = scene(&steps(&[("a", "echo one; echo two >&2"), ("b", "printf '\\033[31mred\\n'")]));
    let (_, id) = ran(&place, &[], 0);
    let log = place.run(&["log", &id]).stdout;
    for text in ["── build:a\n", "one\n", "two\n", "── build:b\n", "red\n"] {
        assert!(log.contains(text), "{text}: {log}");
    }
    assert!(!log.contains('\u{1b}'), "what a step wrote commands no terminal");
    let one = place.run(&["log", &id, "--step", "build:b"]).stdout;
    assert!(!one.contains("one") && one.contains("red"), "{one}");
    expect(&place.run(&["log", "nobody"]), 6);
    let none = place.run(&["log", &id, "--step", "build:c"]);
    expect(&none, 6);
    assert!(none.stderr.contains("there is no step `build:c`"), "{}", none.seen());
}

#[test]
fn following_a_log_shows_output_as_it_comes_and_ends_with_the_run() {
    let place = scene(&steps(&[
        ("a", "echo first; while [ ! -f go ]; do sleep 0.02; done; echo second"),
        ("b", "echo third"),
    ]));
    let mut running = super::background(&place, &["run", "flow.yaml", "--json"]);
    let id = super::until(|| super::only_run(&place));
    let mut follow = super::background(&place, &["log", "-f", &id]);
    super::until(|| follow.said().contains("first").then_some(()));
    assert!(!follow.said().contains("second"));
    fs::write(place.path().join("go"), "").unwrap();
    assert_eq!(running.end().code, 0);
    let followed = follow.end();
    expect(&followed, 0);
    assert_eq!(followed.stdout, "── build:a\nfirst\nsecond\n── build:b\nthird\n");
}

#[test]
fn events_for_programs_are_one_object_per_line() {
    let place = scene(&steps(&[("a", "sh found warnings low"), ("b", "true")]));
    let (run, id) = start(&place, &["--json"]);
    expect(&run, 3);
    let events = lines(&run.stdout);
    let words: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(
        words,
        [
            "run_created",
            "run_started",
            "phase_started",
            "attempt_started",
            "attempt_finished",
            "attempt_started",
            "attempt_finished",
            "phase_ended",
            "decided",
            "run_held"
        ]
    );
    assert!(events.iter().all(|event| event["run_id"] == id.as_str() && event["at"].is_string()));
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    assert_eq!(events.last().unwrap()["checkpoint"], waits_at(&place, &id).as_str());
    assert_eq!(id_of(&run), id);
}

#[test]
fn without_a_terminal_progress_is_plain_lines() {
    let place = scene(&steps(&[("a", "sh found warnings low"), ("b", "true")]));
    let (run, _) = start(&place, &["--yes"]);
    for line in ["phase build", "  warning build:a (<1s, 1 warning)", "  ok      build:b (<1s)"] {
        assert!(run.stderr.lines().any(|known| known == line), "{line}: {}", run.seen());
    }
    assert!(!run.stderr.contains('\u{1b}'), "{}", run.seen());
    assert!(run.stdout.contains("WORKFLOW EXECUTION REPORT"), "{}", run.seen());
}

#[test]
fn the_report_is_always_printed_in_the_format_asked_for() {
    for (command, code) in [("true", 0), ("false", 4), ("sh found warnings low", 3)] {
        for format in ["summary", "detailed", "minimal"] {
            let place = scene(&steps(&[("a", command)]));
            let (run, id) = start(&place, &["--format", format]);
            assert_eq!(run.code, code);
            assert!(run.stdout.contains("WORKFLOW EXECUTION REPORT"), "{command} {format}: {}", run.seen());
            let again = place.run(&["report", &id, "--format", format]);
            assert!(again.stdout.contains("PHASE SUMMARY"), "{}", again.seen());
        }
    }
}

#[test]
fn the_report_lists_findings_by_step_and_by_category() {
    let place = scene(&steps(&[
        ("a", "sh found warnings low"),
        ("b", r#"echo '{"warnings":["minor vulnerability of auth"]}'"#),
    ]));
    let (run, _) = start(&place, &["--set", "warning_tolerance=high", "--yes"]);
    expect(&run, 0);
    for text in ["build:a", "low warnings 1", "BY CATEGORY", "style (1): build:a", "security (1): build:b"] {
        assert!(run.stdout.contains(text), "{text}: {}", run.seen());
    }
}

#[test]
fn success_messages_show_in_the_detailed_report_only() {
    let place = scene(&steps(&[("a", r#"echo '{"message":"all is well"}'"#)]));
    for (format, shown) in [("summary", false), ("minimal", false), ("detailed", true)] {
        let (run, _) = ran(&place, &["--format", format], 0);
        assert_eq!(run.stdout.contains("all is well"), shown, "{format}: {}", run.seen());
    }
}

#[test]
fn the_report_shows_commands_that_mend() {
    let found = r#"echo '{"warnings":[{"text":"old call","severity":"low"}],"suggested_fixes":[{"description":"Use the new one","command":"sed -i s/old/new/ x","file":"src/x"}]}'"#;
    let place = scene(&steps(&[("a", found)]));
    let (run, _) = ran(&place, &["--yes"], 0);
    for text in ["RECOMMENDED ACTIONS", "Use the new one", "Command: sed -i s/old/new/ x"] {
        assert!(run.stdout.contains(text), "{text}: {}", run.seen());
    }
}
