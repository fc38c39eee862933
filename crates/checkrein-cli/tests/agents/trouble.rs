use serde_json::{Value, json};

use crate::place::{Api, Place, in_both, in_both_with, job_with};

/// A job that does not come to its end.
fn paused(place: &Place) -> String {
    place.run(&["job", "Do it", "--agent", "builtin", "--autonomy", "full"]);
    let job = place.shown();
    assert_eq!(job["status"], "paused", "{job}");
    job["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn what_passes_is_waited_for() {
    let script = job_with(json!([
        {"calls": [{"run": "echo a > a.txt"}], "fault": {"status": 429, "retry_after": 0, "times": 2}},
        {"calls": [{"tool": "run_command", "raw": "{\"command\": \"echo b"}]},
        {"text": "a longer sentence that is cut in the middle", "calls": [{"run": "echo c > c.txt"}], "fault": {"cut": true, "times": 1}},
        {"text": "done"},
    ]));
    in_both(&script, &json!({}), |place| {
        let job = place.job("full", &[], 0);
        let id = job["run_id"].as_str().unwrap().to_owned();
        assert_eq!(job["status"], "completed");
        assert_eq!(place.git(&id, &["show", "main:a.txt"]), "a\n");
        assert_eq!(place.git(&id, &["show", "main:c.txt"]), "c\n");
        let log = place.expect(&["log", &id], 0);
        assert_eq!(log.matches("waits 0s: the model allows no more requests").count(), 2, "{log}");
        assert!(
            log.contains("the answer was cut off") && log.contains("✗ the arguments are not a JSON object"),
            "{log}"
        );
        id
    });
}

#[test]
fn what_a_person_has_to_see_to_pauses_the_job() {
    for (fault, key, words) in [
        (json!({"status": 401}), true, "the model refused the key"),
        (json!({"status": 429, "retry_after": 3600}), true, "allows no more requests"),
        (Value::Null, false, "needs a key, and `OTHER_KEY` is not set"),
    ] {
        let place = Place::with(job_with(json!([
            {"calls": [{"run": "echo a > a.txt"}]}, {"text": "done", "fault": fault},
        ])));
        if !key {
            place.settings_with(Api::Anthropic, json!({}), json!({"key_env": "OTHER_KEY"}), json!({}));
        }
        place.run(&["job", "Do it", "--agent", "builtin", "--autonomy", "full"]);
        let job = place.shown();
        assert_eq!(job["status"], "paused", "{words}: {job}");
        let id = job["run_id"].as_str().unwrap().to_owned();
        let shown = place.expect(&["show", &id], 0);
        assert!(shown.contains(words), "{words}: {shown}");
        if key {
            // Nothing is lost: what was done before is there when it goes on.
            place.model.say(
                checkrein_scripted_model::Script::of(job_with(json!([
                {"calls": [{"run": "cat a.txt > b.txt"}]}, {"text": "done"}])))
                .unwrap(),
            );
            place.expect(&["resume", &id], 0);
            assert_eq!(place.git(&id, &["show", "main:b.txt"]), "a\n");
        }
    }
}

/// A model that is away for the moment is asked again by whichever worker is there then, and nothing is left of it in the report.
#[test]
fn an_outage_is_tried_again_by_a_worker() {
    let place = Place::with(job_with(json!([
        {"calls": [{"run": "echo a > a.txt"}]},
        {"text": "done", "fault": {"status": 429, "retry_after": 3600, "times": 1}},
    ])));
    place.expect(&["job", "Do it", "--agent", "builtin", "--autonomy", "full"], 7);
    let job = place.shown();
    let id = job["run_id"].as_str().unwrap().to_owned();
    assert_eq!(job["status"], "paused");
    assert!(job["retry_at"].is_string(), "{job}");
    // It is not due yet, and this worker is gone when it is.
    place.expect(&["worker", "--once"], 0);
    assert_eq!(place.shown()["status"], "paused");
    let mut worker = place.start(&["worker"]);
    place.until("the end", || (place.shown()["status"] == "completed").then_some(()));
    worker.kill().unwrap();
    worker.wait().unwrap();
    let shown = place.expect(&["show", &id], 0);
    assert!(shown.contains("; tried again at ") && shown.contains("by checkrein"), "{shown}");
    let job = place.shown();
    assert_eq!(
        (&job["retry_at"], &job["response_totals"]["warnings"], &job["response_totals"]["errors"]),
        (&Value::Null, &json!(0), &json!(0)),
        "{job}"
    );
    assert_eq!(place.git(&id, &["show", "main:a.txt"]), "a\n");
}

#[test]
fn an_outage_pauses_a_workflow_too() {
    for (fault, tried_again) in [
        (json!({"status": 429, "retry_after": 3600, "times": 1}), true),
        (json!({"status": 401, "times": 1}), false),
    ] {
        let place = Place::with(json!({"answers": [{"says": "Write the notes", "turns": [
            {"calls": [{"run": "echo notes >> notes.md"}]}, {"text": "written", "fault": fault}]}]}));
        place.write("flow.yaml", "id: notes\nagent: builtin\nphases:\n  build:\n    steps: [{id: first, run: echo first >> log}, {id: write, agent: Write the notes}]\n");
        place.expect(&["run", "flow.yaml", "--yes"], 7);
        let run = place.shown();
        assert_eq!((&run["status"], run["retry_at"].is_string()), (&json!("paused"), tried_again), "{run}");
        assert_eq!(run["response_totals"]["errors"], 0, "an outage is no finding: {run}");
        place.expect(&["resume", &place.id()], 0);
        assert_eq!(place.shown()["status"], "completed");
        assert_eq!(std::fs::read_to_string(place.path().join("log")).unwrap(), "first\n", "once");
    }
}

#[test]
fn a_conversation_that_is_too_long_begins_anew() {
    let long = "x".repeat(9_000);
    let mut script = job_with(json!([
        {"calls": [{"tool": "write_file", "input": {"path": "workspace.md", "content": "# Workspace\n\nremember the tea\n"}}]},
        {"calls": [{"run": format!("echo {long}")}]},
        {"calls": [{"run": format!("echo {long}; true")}]},
        {"calls": [{"run": format!("echo {long}; true; true")}]},
        {"text": "never reached"},
    ]));
    script["context_bytes_max"] = json!(36_000);
    let answers = script["answers"].as_array_mut().unwrap();
    answers.insert(
        0,
        json!({"says": "You have worked on this already", "turns": [
        {"calls": [{"run": "echo anew > anew.txt"}]}, {"text": "done after all"}]}),
    );
    in_both(&script, &json!({}), |place| {
        let job = place.job("full", &[], 0);
        let id = job["run_id"].as_str().unwrap().to_owned();
        let log = place.expect(&["log", &id], 0);
        assert!(log.contains("conversation shortened") && log.contains("done after all"), "{log}");
        assert_eq!(place.git(&id, &["show", "main:anew.txt"]), "anew\n");
        let anew = place.model.asked().into_iter().map(|asked| asked.body.to_string());
        let anew = anew.filter(|body| body.contains("You have worked on this already")).collect::<Vec<_>>();
        assert!(
            anew.iter().any(|body| body.contains("remember the tea")),
            "what it wrote down is its memory"
        );
        id
    });
}

#[test]
fn a_conversation_that_gets_too_long_is_written_down_first() {
    let mut script = job_with(json!([
        {"calls": [{"run": "echo a > a.txt"}], "usage": {"input": 9000, "output": 10}},
        {"text": "never reached"},
    ]));
    let answers = script["answers"].as_array_mut().unwrap();
    answers.insert(
        0,
        json!({"says": "You have worked on this already", "turns": [
        {"calls": [{"run": "grep tea workspace.md > remembered.txt"}]}, {"text": "done after all"}]}),
    );
    answers.insert(0, json!({"says": "This conversation is nearly as long", "turns": [
        {"calls": [{"tool": "write_file", "input": {"path": "workspace.md", "content": "# Workspace\n\nthe tea is green\n"}}]},
        {"text": "ok"}]}));
    in_both_with(&script, &json!({}), &json!({"context_tokens": 10_000}), |place| {
        let job = place.job("full", &[], 0);
        let id = job["run_id"].as_str().unwrap().to_owned();
        assert_eq!(place.git(&id, &["show", "main:remembered.txt"]), "the tea is green\n");
        let log = place.expect(&["log", &id], 0);
        assert!(log.contains("conversation shortened") && !log.contains("never reached"), "{log}");
        id
    });
}

#[test]
fn a_model_that_never_stops_is_stopped() {
    let mut script = job_with(json!([
        {"calls": [{"run": "echo a > a.txt"}]}, {"calls": [{"run": "date +%N"}]},
    ]));
    script["answers"][1]["forever"] = json!(true);
    in_both(&script, &json!({"turns_max": 15}), |place| {
        let id = paused(place);
        assert!(place.expect(&["show", &id], 0).contains("asked its model 15 times"));
        assert_eq!(place.git(&id, &["show", "phase-2-tactical:a.txt"]), "a\n", "what it did is kept");
        id
    });
}

#[test]
fn a_model_that_repeats_itself_is_stopped() {
    let mut script =
        job_with(json!([{"calls": [{"run": "echo a > a.txt"}]}, {"calls": [{"run": "echo same"}]}]));
    script["answers"][1]["forever"] = json!(true);
    in_both(&script, &json!({}), |place| {
        let id = paused(place);
        assert!(place.expect(&["show", &id], 0).contains("times in a row with the same arguments"));
        assert!(place.expect(&["log", &id], 0).contains("do something else, or end"));
        id
    });
}

#[test]
fn what_is_outside_and_what_is_forbidden_is_refused() {
    let script = job_with(json!([
        {"calls": [{"tool": "read_file", "input": {"path": "/etc/hostname"}},
                   {"tool": "read_file", "input": {"path": "../../../checkrein.yaml"}},
                   {"tool": "write_file", "input": {"path": "../../escaped.txt", "content": "x"}},
                   {"tool": "write_file", "input": {"path": ".git/hooks/post-commit", "content": "x"}},
                   {"run": "curl http://evil.example/x"},
                   {"tool": "job_complete", "input": {}},
                   {"tool": "next_phase_todos", "input": {"todos": ["more"]}},
                   {"tool": "!approve", "input": {}}]},
        {"calls": [{"run": "echo a > a.txt; ln -s / root"},
                   {"tool": "read_file", "input": {"path": "root/etc/hostname"}}]},
        {"text": "refused everywhere"},
    ]));
    in_both(&script, &json!({"commands": {"deny": ["curl *"]}}), |place| {
        let job = place.job("full", &[], 0);
        let id = job["run_id"].as_str().unwrap().to_owned();
        let log = place.expect(&["log", &id], 0);
        assert_eq!(log.matches("is outside of the directory you work in").count(), 4, "{log}");
        for words in [
            "belongs to git",
            "may not be run here",
            "`job_complete` is for strategic phases",
            "`next_phase_todos` is for strategic phases",
            "there is no tool `approve`",
        ] {
            assert!(log.contains(words), "{words}: {log}");
        }
        assert!(!place.path().join("store/jobs/escaped.txt").exists());
        id
    });
}
