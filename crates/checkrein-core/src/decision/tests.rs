//! The truth tables. Each row: a request as people send it, and what comes back in one line.

use serde_json::{Value, json};

use super::{Answer, Request};

fn ask(request: &Value) -> Answer {
    let (request, resolution) = Request::parse("request", &request.to_string()).unwrap();
    request.answer(&resolution.policy)
}

/// `outcome`, the rule that won, a mark for a check-in, and the reason.
fn line(request: &Value) -> String {
    let answer = ask(request);
    let mut line = answer.outcome.to_string();
    if let Some(rule) = answer.rule {
        line.push_str(&format!(" [{rule}]"));
    }
    if answer.check_in {
        line.push_str(" check-in");
    }
    if !answer.reason.is_empty() {
        line.push_str(&format!(": {}", answer.reason));
    }
    line
}

fn check(rows: &[(Value, &str)]) {
    for (request, expected) in rows {
        assert_eq!(line(request), *expected, "{request}");
    }
}

/// A step of a workflow with these settings and this response.
fn step(autonomy: Value, response: Value) -> Value {
    json!({"scope": "workflow", "autonomy": autonomy, "boundary": {"kind": "step", "phase": "build"}, "response": response})
}

fn with(mut request: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    request
}

fn item(severity: &str, text: &str) -> Value {
    json!({"severity": severity, "text": text})
}

#[test]
fn tolerance_against_severity() {
    let severities = ["low", "medium", "high"];
    for (tolerance, tolerated) in [("none", 0), ("low", 1), ("medium", 2), ("high", 3)] {
        for (rank, severity) in severities.iter().enumerate() {
            for (key, list) in [("warning_tolerance", "warnings"), ("error_tolerance", "errors")] {
                let request =
                    step(json!({key: tolerance}), json!({"status": "success", list: [item(severity, "x")]}));
                let expected = if rank < tolerated { "proceed" } else { "stop" };
                assert_eq!(ask(&request).outcome.name(), expected, "{severity} {list} under {tolerance}");
            }
        }
    }
}

#[test]
fn the_five_examples_of_the_evaluation() {
    check(&[
        (
            step(json!({"warning_tolerance": "low"}), json!({"warnings": [item("low", "Style issue")]})),
            "proceed",
        ),
        (
            step(
                json!({"warning_tolerance": "low"}),
                json!({"warnings": [item("medium", "Deprecated API")]}),
            ),
            "stop [tolerance.warning]: Warning exceeds tolerance: Deprecated API",
        ),
        (
            step(
                json!({"error_tolerance": "low"}),
                json!({"errors": [item("high", "Security vulnerability")]}),
            ),
            "stop [tolerance.error]: Error exceeds tolerance: Security vulnerability",
        ),
        (
            step(
                json!({"error_tolerance": "none"}),
                json!({"errors": [item("low", "Minor validation error")]}),
            ),
            "stop [tolerance.error]: Error exceeds tolerance: Minor validation error",
        ),
        (
            json!({"scope": "workflow", "autonomy": {"check_in_frequency": "per-phase"},
                   "boundary": {"kind": "phase", "phase": "architect"}, "findings_since_check_in": 2}),
            "hold [trigger] check-in: Check-in: architect complete. Continue?",
        ),
        (
            json!({"scope": "workflow", "autonomy": {"check_in_frequency": "per-step"}, "findings_since_check_in": 2,
                   "boundary": {"kind": "step", "phase": "architect", "step": "architect:design"}}),
            "hold [trigger] check-in: Check-in: architect:design complete. Continue?",
        ),
    ]);
}

#[test]
fn handling_is_asked_only_on_a_violation() {
    let low = json!({"warnings": [item("low", "w")]});
    let medium = json!({"warnings": [item("medium", "w")]});
    let error = json!({"status": "failure", "errors": [item("high", "e")]});
    let both = json!({"warnings": [item("high", "w")], "errors": [item("high", "e")]});
    let on = |response: &Value, handling: Value| {
        with(step(json!({}), response.clone()), json!({"result_handling": handling}))
    };
    let hook = |request: Value| with(request, json!({"type": "hook"}));
    check(&[
        (on(&medium, json!({})), "stop [tolerance.warning]: Warning exceeds tolerance: w"),
        (
            on(&medium, json!({"on_warning": "stop"})),
            "stop [tolerance.warning]: Warning exceeds tolerance: w",
        ),
        (
            on(&medium, json!({"on_warning": "prompt"})),
            "hold [tolerance.warning]: Warning exceeds tolerance: w",
        ),
        (on(&medium, json!({"on_warning": "continue"})), "proceed"),
        (on(&low, json!({"on_warning": "stop"})), "proceed"),
        // a step's failure always stops
        (on(&error, json!({})), "stop [tolerance.error]: Error exceeds tolerance: e"),
        (on(&error, json!({"on_failure": "continue"})), "stop [tolerance.error]: Error exceeds tolerance: e"),
        // a hook may go on, and what it was told to pass over is still a reason
        (hook(on(&error, json!({}))), "stop [tolerance.error]: Error exceeds tolerance: e"),
        (hook(on(&error, json!({"on_failure": "continue"}))), "proceed"),
        // each kind by its own handling, the strictest wins, the error is named on a tie
        (on(&both, json!({"on_warning": "prompt"})), "stop [tolerance.error]: Error exceeds tolerance: e"),
        (
            hook(on(&both, json!({"on_failure": "continue"}))),
            "stop [tolerance.warning]: Warning exceeds tolerance: w",
        ),
        (
            hook(on(&both, json!({"on_failure": "continue", "on_warning": "prompt"}))),
            "hold [tolerance.warning]: Warning exceeds tolerance: w",
        ),
    ]);
}

#[test]
fn the_last_exceeding_finding_is_named_and_all_are_listed() {
    let request = step(
        json!({}),
        json!({"warnings": [item("high", "w1")], "errors": [item("high", "e1"), item("low", "e2")]}),
    );
    let answer = ask(&request);
    assert_eq!(answer.reason, "Error exceeds tolerance: e2");
    let because: Vec<String> = answer.because.iter().map(|b| format!("{} {}", b.rule, b.text)).collect();
    assert_eq!(
        because,
        [
            "tolerance.error Error exceeds tolerance: e1",
            "tolerance.error Error exceeds tolerance: e2",
            "tolerance.warning Warning exceeds tolerance: w1",
        ]
    );
}

#[test]
fn a_failure_within_tolerance_proceeds() {
    check(&[
        (
            step(
                json!({"error_tolerance": "low"}),
                json!({"status": "failure", "errors": [item("low", "e")]}),
            ),
            "proceed",
        ),
        (
            step(json!({"error_tolerance": "medium"}), json!({"status": "failure"})),
            "stop [tolerance.error]: Error exceeds tolerance: Step failed without error details",
        ),
        (
            step(json!({}), json!(null)),
            "stop [tolerance.error]: Error exceeds tolerance: Step returned null or undefined result",
        ),
        (json!({"scope": "workflow", "boundary": {"kind": "step"}}), "proceed"),
    ]);
}

#[test]
fn limits_count_every_finding() {
    let warn = |n: usize| json!({"status": "success", "warnings": vec![item("low", "w"); n]});
    let high = json!({"warning_tolerance": "high", "error_tolerance": "high", "limits": {"max_total_warnings": 5, "max_total_errors": 3}});
    let at = |w: u64, e: u64, response: Value| {
        with(step(high.clone(), response), json!({"totals": {"warnings": w, "errors": e}}))
    };
    check(&[
        (at(3, 0, warn(1)), "proceed"),
        (at(4, 0, warn(1)), "stop [limit.warnings]: Global limit reached: 5/5 warnings"),
        (at(4, 0, warn(3)), "stop [limit.warnings]: Global limit reached: 7/5 warnings"),
        // nothing new of the kind, nothing reached: a resumed run goes on
        (at(9, 9, warn(0)), "proceed"),
        (at(9, 0, json!({"errors": ["e"]})), "proceed"),
        (at(0, 2, json!({"errors": ["e"]})), "stop [limit.errors]: Global limit reached: 3/3 errors"),
        // both: warnings are named
        (
            at(4, 2, json!({"errors": ["e"], "warnings": ["w"]})),
            "stop [limit.warnings]: Global limit reached: 5/5 warnings",
        ),
    ]);
    // a limit outranks a tolerance, and the exceeding finding counted towards it
    check(&[(
        with(step(json!({}), json!({"errors": [item("high", "e")]})), json!({"totals": {"errors": 19}})),
        "stop [limit.errors]: Global limit reached: 20/20 errors",
    )]);
    let both = ask(&at(4, 2, json!({"errors": ["e"], "warnings": ["w"]})));
    assert_eq!(
        serde_json::to_value(both.limits_reached).unwrap(),
        json!({"max_total_warnings": {"limit": 5, "actual": 5, "action": "stop"},
               "max_total_errors": {"limit": 3, "actual": 3, "action": "stop"}})
    );
}

#[test]
fn truncating_keeps_the_first_and_goes_on_judging() {
    let limits = json!({"limits": {"max_total_warnings": 5, "on_limit_reached": "truncate"}, "warning_tolerance": "low"});
    let request = |before: u64, response: Value| {
        with(step(limits.clone(), response), json!({"totals": {"warnings": before}}))
    };
    let four = json!({"warnings": [item("low", "a"), item("low", "b"), item("low", "c"), item("low", "d")]});

    let answer = ask(&request(3, four.clone()));
    assert_eq!(answer.outcome.name(), "proceed");
    assert_eq!(answer.because[0].text, "Limit reached, truncating collection: warnings");
    let kept: Vec<&str> = answer.collected.warnings.iter().map(|f| f.text.as_str()).collect();
    assert_eq!((kept, answer.truncated.warnings, answer.totals.warnings), (vec!["a", "b"], 2, 7));
    assert_eq!(
        answer.limits_reached.max_total_warnings.as_ref().unwrap().action,
        crate::decision::LimitAction::Truncated
    );

    let answer = ask(&request(9, four));
    assert_eq!(
        (answer.collected.warnings.len(), answer.truncated.warnings, answer.totals.warnings),
        (0, 4, 13)
    );

    check(&[(
        request(9, json!({"warnings": [item("high", "late")]})),
        "stop [tolerance.warning]: Warning exceeds tolerance: late",
    )]);
}

#[test]
fn each_frequency_fires_on_its_own_event() {
    for (frequency, fires_on) in
        [("per-step", "step"), ("per-phase", "phase"), ("end-only", "complete"), ("weekly", "-")]
    {
        for kind in ["step", "phase", "complete", "phase_entry"] {
            let request = json!({"scope": "workflow", "autonomy": {"check_in_frequency": frequency},
                                 "boundary": {"kind": kind, "phase": "build"}, "findings_since_check_in": 1});
            let answer = ask(&request);
            assert_eq!(answer.check_in, kind == fires_on, "{frequency} at {kind}");
            assert_eq!(answer.outcome.name() == "hold", kind == fires_on, "{frequency} at {kind}");
        }
    }
}

#[test]
fn a_check_in_needs_an_answer_only_with_findings() {
    let at = |more: Value| {
        with(json!({"scope": "workflow", "boundary": {"kind": "phase", "phase": "build"}}), more)
    };
    check(&[
        (at(json!({})), "proceed check-in"),
        (
            at(json!({"findings_since_check_in": 1})),
            "hold [trigger] check-in: Check-in: build complete. Continue?",
        ),
        (
            at(json!({"response": {"warnings": [item("low", "w")]}})),
            "hold [trigger] check-in: Check-in: build complete. Continue?",
        ),
        (
            at(json!({"autonomy": {"ask": "always"}})),
            "hold [trigger] check-in: Check-in: build complete. Continue?",
        ),
        // stopping is not checking in
        (
            at(json!({"response": {"errors": [item("high", "e")]}})),
            "stop [tolerance.error]: Error exceeds tolerance: e",
        ),
    ]);
}

#[test]
fn phases_see_their_own_policy_and_the_end_sees_the_global_one() {
    let autonomy = json!({"check_in_frequency": "per-phase", "warning_tolerance": "medium", "error_tolerance": "none",
        "overrides": {"evaluate": {"warning_tolerance": "none", "check_in_frequency": "per-step"}}});
    let low = json!({"warnings": [item("low", "w")]});
    let at = |kind: &str, phase: &str, response: Value| json!({"scope": "workflow", "autonomy": autonomy, "boundary": {"kind": kind, "phase": phase}, "response": response});
    check(&[
        (at("step", "build", low.clone()), "proceed"),
        (at("step", "evaluate", low.clone()), "stop [tolerance.warning]: Warning exceeds tolerance: w"),
        (at("step", "evaluate", json!({"status": "success"})), "proceed check-in"),
        (at("phase", "evaluate", json!({"status": "success"})), "proceed"),
        (at("phase", "build", json!({"status": "success"})), "proceed check-in"),
        (at("complete", "evaluate", low), "proceed"),
    ]);
}

#[test]
fn gates_hold_at_phase_entry_whatever_else_is_set() {
    let at = |kind: &str, phase: &str| json!({"scope": "workflow", "autonomy": {"require_approval_for": ["release"]}, "boundary": {"kind": kind, "phase": phase}});
    check(&[
        (at("phase_entry", "release"), "hold [gate]: Phase `release` starts only after an approval"),
        (at("phase_entry", "build"), "proceed"),
        (
            json!({"scope": "workflow", "autonomy": {"require_approval_for": ["release"]}, "boundary": {"kind": "phase_entry"}}),
            "hold [gate]: A phase nobody named starts only after an approval",
        ),
        (at("phase", "release"), "proceed check-in"),
        (
            json!({"scope": "workflow", "autonomy": {"pause_before_release": true}, "boundary": {"kind": "phase_entry", "phase": "release"}}),
            "hold [gate]: Phase `release` starts only after an approval",
        ),
    ]);
}

/// The freeze table, over the first five phases.
#[test]
fn job_levels_freeze_where_they_say() {
    let outcome = |level: &str, number: u32, complete: bool| {
        let kind = if number % 2 == 1 { "strategic" } else { "tactical" };
        let request = json!({"scope": "job", "autonomy": level, "boundary":
            {"kind": "phase", "phase_kind": kind, "phase_number": number, "job_complete": complete}});
        ask(&request).outcome.name()
    };
    //  level         phase 1    phase 2    phase 3    phase 4    job_complete in phase 5
    for (level, expected) in [
        ("full", ["proceed", "proceed", "proceed", "proceed", "proceed"]),
        ("review", ["proceed", "proceed", "proceed", "proceed", "hold"]),
        ("partial", ["hold", "proceed", "proceed", "proceed", "hold"]),
        ("guided", ["hold", "proceed", "hold", "proceed", "hold"]),
        ("dependent", ["hold", "hold", "hold", "hold", "hold"]),
    ] {
        let actual: Vec<&str> =
            (1..=4).map(|n| outcome(level, n, false)).chain([outcome(level, 5, true)]).collect();
        assert_eq!(actual, expected, "{level}");
        // completion freezes wherever it is called, and both ways to say it mean the same
        for number in 1..=4 {
            assert_eq!(outcome(level, number, true), expected[4], "{level} complete in phase {number}");
        }
        let complete = json!({"scope": "job", "autonomy": level, "boundary": {"kind": "complete"}});
        assert_eq!(ask(&complete).outcome.name(), expected[4], "{level}");
    }
}

#[test]
fn what_is_told_to_continue_is_still_a_reason() {
    let request = with(
        step(json!({}), json!({"warnings": [item("high", "w")]})),
        json!({"result_handling": {"on_warning": "continue"}}),
    );
    let answer = ask(&request);
    assert_eq!((answer.outcome.name(), answer.reason.as_str(), answer.rule), ("proceed", "", None));
    assert_eq!(answer.because[0].text, "Warning exceeds tolerance: w");
}

#[test]
fn a_completed_job_waits_as_one_that_is_complete() {
    for level in ["review", "partial", "guided", "dependent"] {
        let request = json!({"scope": "job", "autonomy": level, "boundary":
            {"kind": "phase", "phase_kind": "strategic", "phase_number": 1, "job_complete": true}});
        let reason = ask(&request).reason;
        assert_eq!(reason, "Job complete: its result waits for review (holds at completion)", "{level}");
    }
}

#[test]
fn what_had_to_be_coerced_is_noted() {
    let request = step(json!({}), json!({"warnings": [{"text": "x", "severity": "dire"}]}));
    assert_eq!(ask(&request).notes, ["unknown severity `dire` ranks as medium"]);
}

#[test]
fn worker_levels_checkpoint_by_type() {
    for (autonomy, kind, expected) in [
        (json!("manual"), "anything", true),
        (json!("semi_supervised"), "phase_transition", true),
        (json!("semi_supervised"), "deliverable", true),
        (json!("semi_supervised"), "final_output", true),
        (json!("semi_supervised"), "intermediate", false),
        (json!("semi_supervised"), "Deliverable", false),
        (json!("autonomous"), "deliverable", false),
        (json!({"level": "semi_supervised", "checkpoint_types": ["draft"]}), "draft", true),
        (json!({"level": "semi_supervised", "checkpoint_types": ["draft"]}), "deliverable", false),
        (json!({"checkpoint_types": ["draft"]}), "draft", true),
        (json!({"level": "manual", "checkpoint_types": ["draft"]}), "deliverable", true),
        (json!({"level": "autonomous", "checkpoint_types": ["draft"]}), "draft", false),
        (json!({"level": "custom", "hold_at": [{"on": "draft"}]}), "draft", true),
        (json!({"level": "custom", "hold_at": [{"on": "draft"}]}), "deliverable", false),
        (json!(null), "deliverable", true),
        (json!(null), "intermediate", false),
    ] {
        let request = json!({"scope": "worker", "autonomy": autonomy, "boundary": {"kind": kind}});
        assert_eq!(ask(&request).outcome.name() == "hold", expected, "{autonomy} at {kind}");
    }
}

#[test]
fn job_and_worker_scopes_judge_findings_only_when_told_to() {
    let bad = json!({"status": "failure", "errors": vec![item("high", "e"); 30], "warnings": vec![item("high", "w"); 60]});
    let at = |autonomy: Value| json!({"scope": "job", "autonomy": autonomy, "boundary": {"kind": "step"}, "response": bad});
    check(&[
        (at(json!("full")), "proceed"),
        (
            at(json!({"level": "guided", "error_tolerance": "low"})),
            "stop [tolerance.error]: Error exceeds tolerance: e",
        ),
        (
            at(json!({"level": "full", "limits": {"max_total_warnings": 10}})),
            "stop [limit.warnings]: Global limit reached: 60/10 warnings",
        ),
    ]);
}

#[test]
fn reasons_say_what_waits_and_why() {
    let job = |autonomy: Value, boundary: Value| json!({"scope": "job", "autonomy": autonomy, "boundary": boundary});
    check(&[
        (
            job(json!("partial"), json!({"kind": "phase", "phase_kind": "strategic", "phase_number": 1})),
            "hold [trigger] check-in: Phase 1 (strategic) waits for review (holds at first strategic phase)",
        ),
        (
            job(
                json!("review"),
                json!({"kind": "phase", "phase_kind": "tactical", "phase_number": 4, "job_complete": true}),
            ),
            "hold [trigger] check-in: Job complete: its result waits for review (holds at completion)",
        ),
        (
            job(
                json!({"level": "custom", "hold_at": [{"on": "phase", "confidence_below": 0.7}]}),
                json!({"kind": "phase", "phase_number": 2, "confidence": 0.5}),
            ),
            "hold [trigger] check-in: Phase 2 waits for review (holds at every phase with confidence below 0.7, it is 0.5)",
        ),
        (
            job(
                json!({"level": "custom", "hold_at": [{"on": "phase", "confidence_below": 0.7}]}),
                json!({"kind": "phase"}),
            ),
            "hold [trigger] check-in: Phase waits for review (holds at every phase with confidence below 0.7, it is not stated)",
        ),
        (
            json!({"scope": "worker", "autonomy": "manual", "boundary": {"kind": "draft"}}),
            "hold [trigger] check-in: Checkpoint `draft` waits for review (holds at every boundary)",
        ),
        (
            json!({"scope": "workflow", "autonomy": {"check_in_frequency": "end-only", "ask": "always"}, "boundary": {"kind": "complete"}}),
            "hold [trigger] check-in: Check-in: workflow complete. Continue?",
        ),
    ]);
}

#[test]
fn bad_requests_say_what_is_wrong() {
    for (request, expected) in [
        (r#"{}"#, "request:1:1: missing key `scope`"),
        (r#"{"scope": "job"}"#, "request:1:1: missing key `boundary`"),
        (
            r#"{"scope": "jobs", "boundary": {"kind": "step"}}"#,
            "request:1:11: scope: unknown value `jobs`, expected one of `workflow`, `worker`, `job`\n  hint: did you mean `job`?",
        ),
        (
            r#"{"scope": "job", "autonomy": "guidde", "boundary": {"kind": "step"}}"#,
            "request:1:18: autonomy.level: unknown job level `guidde`\n  hint: did you mean `guided`? valid levels: `full`, `review`, `partial`, `guided`, `dependent`, `custom`",
        ),
        (
            r#"{"scope": "worker", "autonomy": {"level": "partial"}, "boundary": {"kind": "step"}}"#,
            "request:1:34: autonomy.level: unknown worker level `partial`\n  hint: `partial` is a job level; valid levels: `manual`, `semi_supervised`, `autonomous`, `custom`",
        ),
        (
            r#"{"scope": "workflow", "autonomy": {"limits": {"max_total_errors": 0}}, "boundary": {"kind": "step"}}"#,
            "request:1:67: autonomy.limits.max_total_errors: must be at least 1, found `0`",
        ),
        (
            r#"{"scope": "job", "autonomy": {"level": "custom"}, "boundary": {"kind": "step"}}"#,
            "request:1:31: autonomy.level: level `custom` needs `hold_at`\n  hint: write `hold_at: []` to hold nowhere",
        ),
        (
            r#"{"scope": "job", "autonomy": {"hold_at": [{"on": "phase", "every": 0}]}, "boundary": {"kind": "step"}}"#,
            "request:1:43: autonomy.hold_at[0]: `every` must be at least 1, found `0`",
        ),
        (r#"{"scope": "job", "boundary": {"kind": ""}}"#, "request:1:39: boundary.kind: is empty"),
        (
            r#"{"scope": "job", "boundary": {"kind": "phase", "phase_number": 0}}"#,
            "request:1:64: boundary.phase_number: phases are counted from 1, found `0`",
        ),
        (
            r#"{"scope": "job", "boundary": {"kind": "phase", "confidence": 70}}"#,
            "request:1:62: boundary.confidence: must be from 0 to 1, found `70`",
        ),
        (
            r#"{"scope": "job", "autonomy": {"hold_at": [{"on": "step", "every": 3}]}, "boundary": {"kind": "step"}}"#,
            "request:1:43: autonomy.hold_at[0]: `first` and `every` mean nothing with `on: step`\n  hint: they count phases: write them with `on: phase` or `on: phase_entry`",
        ),
        (
            r#"{"scope": "workflow", "boundary": {"kind": "step"}, "totals": {"warnings": -1}}"#,
            "request:1:76: totals.warnings: expected a whole number from 0 up, found a number `-1`",
        ),
        (
            r#"{"scope": "workflow", "boundary": {"kind": "step"}, "result_handling": {"on_warning": "ask"}}"#,
            "request:1:87: result_handling.on_warning: unknown value `ask`, expected one of `continue`, `prompt`, `stop`",
        ),
    ] {
        let problems = Request::parse("request", request).unwrap_err();
        assert_eq!(problems.to_string(), expected, "{request}");
    }
}
