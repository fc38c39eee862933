use serde_json::json;

use crate::place::{Api, Place, in_both, job_with};

/// Every tool that changes or looks at files, and commits.
fn work() -> serde_json::Value {
    job_with(json!([
        {"calls": [{"tool": "write_file", "input": {"path": "src/a.txt", "content": "one\ntwo\n"}}]},
        {"calls": [{"tool": "edit_file", "input": {"path": "src/a.txt", "old": "two", "new": "three"}},
                   {"tool": "read_file", "input": {"path": "src/a.txt"}}]},
        {"calls": [{"tool": "search", "input": {"pattern": "thr.e"}}, {"tool": "list_files", "input": {"depth": 3}}]},
        {"calls": [{"run": "git add -A && git commit -qm 'todo 1: a file'"}]},
        {"calls": [{"tool": "git_status"}, {"tool": "git_log", "input": {"max": 1}}, {"tool": "git_show", "input": {"revision": "HEAD"}},
                   {"tool": "git_diff", "input": {"from": "HEAD"}}]},
        {"calls": [{"tool": "todo_complete", "input": {"id": 1}}]},
        {"text": "the file is there", "usage": {"input": 500, "output": 50}},
    ]))
}

#[test]
fn both_dialects_lead_to_the_same_commits() {
    in_both(&work(), &json!({}), |place| {
        let job = place.job("full", &[], 0);
        let id = job["run_id"].as_str().unwrap().to_owned();
        assert_eq!(job["status"], "completed", "{job}");
        assert_eq!(place.git(&id, &["show", "main:src/a.txt"]), "one\nthree\n");
        let log = place.expect(&["log", &id], 0);
        for words in
            ["src/a.txt:2:three", "todo 1: a file", "▸ edit_file", "the file is there", "tokens, $0.0"]
        {
            assert!(log.contains(words), "{words}: {log}");
        }
        id
    });
}

#[test]
fn everything_asked_of_the_model_is_kept_without_secrets() {
    let place = Place::with(job_with(json!([
        {"calls": [{"run": "env; echo password is hunter2-secret-of-db"}]}, {"text": "done"},
    ])));
    let job = place.job("full", &["--datasource", "db=postgres://ann:hunter2-secret-of-db@localhost/x"], 0);
    let id = job["run_id"].as_str().unwrap();
    let list = place.expect(&["log", id, "--requests"], 0);
    assert!(list.lines().count() >= 6, "{list}");
    let first = list.split_whitespace().next().unwrap();
    let one: serde_json::Value =
        serde_json::from_str(&place.expect(&["log", id, "--requests", first], 0)).unwrap();
    assert_eq!((&one["status"], &one["answer"]["stop"]), (&json!(200), &json!("tools")));
    assert!(one["request"]["messages"][0].to_string().contains("# Phase 1 (strategic)"), "{one}");
    for line in list.lines() {
        let request = line.split_whitespace().next().unwrap();
        let whole = place.expect(&["log", id, "--requests", request], 0);
        assert!(!whole.contains("hunter2-secret"), "{whole}");
    }
    assert!(!place.expect(&["log", id], 0).contains("hunter2-secret"));
    // Commands see neither the key nor what speaks for a person.
    let asked = place.model.asked();
    let told: String = asked.iter().map(|asked| asked.body.to_string()).collect();
    assert!(
        told.contains("CHECKREIN_JOB_ID=") && !told.contains("SCRIPTED_KEY="),
        "the environment of commands"
    );
    place.expect(&["log", id, "--requests", "99.1"], 6);
}

#[test]
fn a_step_of_a_workflow_is_done_by_it_too() {
    let place = Place::with(json!({"answers": [{"says": "Write the notes", "turns": [
        {"calls": [{"tool": "write_file", "input": {"path": "notes.md", "content": "notes\n"}}]},
        {"calls": [{"run": "false"}]},
        {"calls": [{"tool": "report_response", "input": {"status": "warning", "summary": "wrote notes",
            "warnings": [{"text": "they are short", "severity": "low"}]}}]},
        {"text": "written"}]}]}));
    place.settings(Api::Anthropic, json!({"findings": {"failed_commands": "warning"}}));
    place.write("flow.yaml", "id: notes\nagent: builtin\nautonomy: {warning_tolerance: high}\nphases:\n  build:\n    steps: [{id: write, agent: Write the notes}]\n");
    place.expect(&["run", "flow.yaml", "--yes"], 0);
    assert_eq!(std::fs::read_to_string(place.path().join("notes.md")).unwrap(), "notes\n");
    let id = place.id();
    let report = place.expect(&["report", &id], 0);
    assert!(report.contains("they are short") && report.contains("A command failed: false"), "{report}");
    let log = place.expect(&["log", &id], 0);
    assert!(log.contains("▸ write_file") && log.contains("tokens"), "{log}");
}

#[test]
fn what_it_reports_and_what_failed_is_judged() {
    let place = Place::with(job_with(json!([
        {"calls": [{"run": "test -f missing"}]},
        {"calls": [{"run": "exit 3"}]},
        {"calls": [{"tool": "report_response", "input": {"status": "success", "summary": "did it", "confidence": 0.4}}]},
        {"text": "done"},
    ])));
    place.settings(Api::Openai, json!({"findings": {"failed_commands": "error", "commands": ["test *"]}}));
    let autonomy = r#"{"level": "full", "hold_at": [{"on": "phase", "confidence_below": 0.5, "phase_kind": "tactical"}], "error_tolerance": "high"}"#;
    let job = place.job(autonomy, &[], 3);
    assert_eq!(job["phase"], "phase-2-tactical", "its confidence is below what goes on: {job}");
    let report = place.expect(&["report", job["run_id"].as_str().unwrap()], 0);
    assert!(report.contains("A command failed: test -f missing"), "{report}");
    assert!(!report.contains("exit 3"), "{report}");
}

#[test]
fn each_kind_of_phase_has_its_own_model() {
    let place = Place::with(job_with(json!([{"calls": [{"run": "echo a > a.txt"}]}, {"text": "done"}])));
    let named = |name: &str| json!({"api": "openai", "model": name, "url": place.model.openai_url()});
    let models = json!({"large": named("thinks"), "small": named("works")});
    let agent = json!({"models": {"strategic": "large", "tactical": "small"}});
    place.settings_with(Api::Openai, agent, json!({}), json!({"models": models}));
    place.job("full", &[], 0);
    let asked = place.model.asked();
    assert!(!asked.is_empty());
    for one in asked {
        let text = one.body.to_string();
        let expected = if text.contains("# Phase 2 (tactical)") { "works" } else { "thinks" };
        assert_eq!(one.body["model"], expected, "{text}");
    }
}
