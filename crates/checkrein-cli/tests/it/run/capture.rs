//! Every response is captured, once, with everything in it.

use serde_json::{Value, json};

use super::{lines, logged, of_type, ran, responses, scene, show, start, steps, texts};

const FULL: &str = r#"cat > "$CHECKREIN_RESPONSE" <<'END'
{"status": "warning", "message": "Built with deprecated calls",
 "details": {"files_compiled": 45},
 "warnings": [{"text": "Deprecated API: useCallback", "suggested_fix": "Use useMemo"}, "slow query"],
 "errors": [],
 "warning_analysis": "Before the next version",
 "suggested_fixes": ["Replace it", {"description": "Rewrite", "command": "sed -i x", "file": "src/api.ts"}],
 "artifacts": ["dist/app.js"]}
END"#;

#[test]
fn a_step_response_is_captured_with_all_its_parts() {
    let place = scene(&steps(&[("implement", FULL)]));
    let (_, id) = ran(&place, &["--set", "warning_tolerance=high", "--yes"], 0);
    let records = of_type(&logged(&place, &id), "step-response");
    assert_eq!(records.len(), 1);
    let record = &records[0];
    for (key, expected) in [
        ("workflow_id", json!("flow")),
        ("run_id", json!(id)),
        ("step_id", json!("build:implement")),
        ("step_name", json!("implement")),
        ("phase", json!("build")),
        ("type", json!("step")),
        ("attempt", json!(1)),
        ("status", json!("warning")),
        ("message", json!("Built with deprecated calls")),
        ("details", json!({"files_compiled": 45})),
        ("errors", json!([])),
        ("warning_analysis", json!("Before the next version")),
        ("error_analysis", Value::Null),
        ("artifacts", json!(["dist/app.js"])),
        ("exit_code", json!(0)),
    ] {
        assert_eq!(record[key], expected, "{key}: {record}");
    }
    assert_eq!(texts(&record["warnings"], "text"), ["Deprecated API: useCallback", "slow query"]);
    assert_eq!(record["suggested_fixes"].as_array().unwrap().len(), 2, "{record}");
    assert!(record["timestamp"].is_string() && record["duration_ms"].is_u64(), "{record}");
    assert_eq!(show(&place, &id)["logs"]["step_responses"], json!([record["response_id"]]));
}

#[test]
fn severity_and_category_are_kept_or_told_by_the_words() {
    let items = [
        (json!({"text": "x", "severity": "low", "category": "style"}), "low", "style"),
        (json!("Deprecated API"), "medium", "deprecation"),
        (json!("security hole"), "high", "security"),
        (json!("minor slip"), "low", "other"),
        (json!("nothing known"), "medium", "other"),
        (json!({"text": "slow", "severity": "high"}), "high", "performance"),
        (json!({"text": "slow", "category": "mine"}), "medium", "mine"),
        (json!({"text": "odd", "severity": "dreadful"}), "medium", "other"),
    ];
    let list: Vec<&Value> = items.iter().map(|(item, ..)| item).collect();
    for kind in ["warnings", "errors"] {
        let response = json!({ kind: list }).to_string();
        let place = scene(&steps(&[("a", "cat response")])).file("response", &response);
        let open = ["--set", "warning_tolerance=high", "--set", "error_tolerance=high", "--yes"];
        let (_, id) = ran(&place, &open, 0);
        let found = logged(&place, &id)[0][kind].clone();
        for (index, (item, severity, category)) in items.iter().enumerate() {
            let told = (&found[index]["severity"], &found[index]["category"]);
            assert_eq!(told, (&json!(severity), &json!(category)), "{kind} {item}");
        }
    }
}

#[test]
fn hooks_are_captured_like_steps() {
    let place = scene(
        "phases: {build: {steps: [{id: a, run: 'true'}]}}
hooks:
  pre_build: [{name: lint, run: sh found warnings low}]
  post_build: [{name: tidy, run: echo tidy}]",
    );
    let (_, id) = ran(&place, &["--yes"], 0);
    assert_eq!(
        responses(&place, &id),
        ["hook:pre-build-lint warning", "build:a success", "hook:post-build-tidy success"]
    );
    let records = of_type(&logged(&place, &id), "step-response");
    let about = |index: usize| {
        let record: &Value = &records[index];
        (
            record["type"].clone(),
            record["hook_timing"].clone(),
            record["phase"].clone(),
            record["attempt"].clone(),
        )
    };
    assert_eq!(about(0), (json!("hook"), json!("pre"), json!("build"), json!(1)));
    assert_eq!(about(1), (json!("step"), Value::Null, json!("build"), json!(1)));
    assert_eq!(about(2), (json!("hook"), json!("post"), json!("build"), json!(1)));
}

#[test]
fn the_file_is_stronger_than_the_last_line_of_output() {
    let both = r#"echo '{"message":"line"}'; echo '{"message":"file"}' > $CHECKREIN_RESPONSE"#;
    let empty = r#"echo '{"message":"line"}'; : > $CHECKREIN_RESPONSE"#;
    let early = r#"echo '{"message":"not the last"}'; echo done"#;
    let blank = "echo '{\"message\":\"line\"}'; echo; echo '  '";
    let list = [("both", both), ("empty", empty), ("early", early), ("blank", blank)];
    let place = scene(&steps(&list));
    let (_, id) = ran(&place, &[], 0);
    let told: Vec<Value> = of_type(&logged(&place, &id), "step-response")
        .iter()
        .map(|record| record["message"].clone())
        .collect();
    assert_eq!(told, [json!("file"), json!("line"), Value::Null, json!("line")]);
}

#[test]
fn several_attempts_in_one_response_are_all_logged_and_the_last_is_judged() {
    let tried = r#"echo '{"attempts":[{"status":"failure","errors":["no luck"]},{"status":"failure","errors":["nor now"]},{"status":"success","message":"third time"}]}'"#;
    let place = scene(&steps(&[("a", tried), ("b", "true")]));
    let (_, id) = ran(&place, &[], 0);
    assert_eq!(
        responses(&place, &id),
        ["build:a failure", "build:a failure", "build:a success", "build:b success"]
    );
    let records = of_type(&logged(&place, &id), "step-response");
    let attempts: Vec<&Value> = records.iter().map(|record| &record["attempt"]).collect();
    assert_eq!(attempts, [&json!(1), &json!(2), &json!(3), &json!(1)]);
    let shown = show(&place, &id);
    assert_eq!(shown["response_totals"]["errors"], 0, "only the last one counts");
    assert_eq!(shown["status"], "completed");
}

#[test]
fn a_build_and_evaluate_loop_numbers_its_attempts_and_says_why() {
    let place = scene(
        r#"phases:
  build:
    steps: [{id: make, run: 'echo "$CHECKREIN_ATTEMPT_NUMBER ${CHECKREIN_FAILURE-none}" >> tries'}]
  evaluate:
    max_retries: 2
    steps: [{id: test, run: 'test $(wc -l < tries) -ge 3 || { echo "only a few" >&2; exit 1; }'}]"#,
    );
    let (ran_, id) = start(&place, &["--yes", "--json"]);
    assert_eq!(ran_.code, 0, "{}", ran_.seen());
    let tries = place.read("tries");
    assert_eq!(
        tries,
        "1 none\n2 Error exceeds tolerance: only a few\n3 Error exceeds tolerance: only a few\n"
    );
    assert_eq!(
        responses(&place, &id),
        [
            "build:make success",
            "evaluate:test failure",
            "build:make success",
            "evaluate:test failure",
            "build:make success",
            "evaluate:test success"
        ]
    );
    let attempts: Vec<Value> =
        of_type(&logged(&place, &id), "step-response").iter().map(|one| one["attempt"].clone()).collect();
    assert_eq!(attempts, [1, 1, 2, 2, 3, 3]);
    let looped = lines(&ran_.stdout).iter().filter(|event| event["event"] == "looped_back").count();
    assert_eq!((looped, &show(&place, &id)["retries"]), (2, &json!(2)));
    assert_eq!(show(&place, &id)["status"], "completed_with_warnings", "the errors are not forgotten");
}

#[test]
fn a_loop_without_retries_left_stops() {
    let flow = |retries: &str| {
        format!(
            "phases:\n  build: {{steps: [{{id: make, run: echo >> tries}}]}}\n  evaluate: {{{retries} steps: [{{id: test, run: 'false'}}]}}"
        )
    };
    for (retries, expected) in [("", 4), ("max_retries: 1,", 2), ("max_retries: 0,", 1)] {
        let place = scene(&flow(retries));
        let (_, id) = ran(&place, &["--yes"], 4);
        assert_eq!(place.read("tries").lines().count(), expected, "{retries}");
        assert_eq!(show(&place, &id)["status"], "failed");
    }
}

#[test]
fn a_failed_step_is_captured_before_it_stops_the_run() {
    let place = scene(&steps(&[("a", "echo broken >&2; false"), ("b", "touch never")]));
    let (_, id) = ran(&place, &[], 4);
    assert_eq!(responses(&place, &id), ["build:a failure"]);
    assert!(!place.path().join("never").exists());
}

#[test]
fn a_hook_has_one_attempt_however_often_its_phase_is_entered() {
    let place = scene(
        "phases:
  build: {steps: [{id: make, run: echo >> tries}]}
  evaluate: {max_retries: 1, steps: [{id: test, run: test $(wc -l < tries) = 2}]}
hooks: {pre_build: [{name: h, run: 'true'}]}",
    );
    let (_, id) = ran(&place, &["--yes"], 0);
    let records = of_type(&logged(&place, &id), "step-response");
    let attempts = |task: &str| -> Vec<Value> {
        let of = records.iter().filter(|one| one["step_id"] == task);
        of.map(|one| one["attempt"].clone()).collect()
    };
    assert_eq!(attempts("hook:pre-build-h"), [1, 1]);
    assert_eq!(attempts("build:make"), [1, 2]);
}
