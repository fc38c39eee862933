use serde_json::json;

use crate::place::{Place, job_with};

fn working(delay_ms: u64) -> serde_json::Value {
    job_with(json!([
        {"calls": [{"run": "echo a > a.txt"}], "usage": {"input": 5000, "output": 0}},
        {"calls": [{"run": "echo b > b.txt"}], "usage": {"input": 5000, "output": 0}, "delay_ms": delay_ms},
        {"text": "done", "usage": {"input": 5000, "output": 0}, "delay_ms": delay_ms},
    ]))
}

#[test]
fn a_budget_that_is_used_up_ends_the_attempt_and_holds() {
    let place = Place::with(working(3000));
    let level = r#"{"level": "full", "budget": {"tokens": 9000}}"#;
    let job = place.job(level, &[], 3);
    let id = job["run_id"].as_str().unwrap().to_owned();
    assert_eq!(
        (&job["status"], &job["phase"]),
        (&json!("pending_review"), &json!("phase-2-tactical")),
        "{job}"
    );
    assert!(job["hold"]["reason"].as_str().unwrap().starts_with("Budget reached"), "{job}");
    // What was done so far is on the branch; approving goes on with the phase, with as much again.
    assert_eq!(place.git(&id, &["show", "phase-2-tactical:a.txt"]), "a\n");
    let checkpoint = job["checkpoint"].as_str().unwrap().to_owned();
    place.approve(&checkpoint);
    place.model.say(checkrein_scripted_model::Script::of(working(0)).unwrap());
    let ended = place.run(&["resume", &id]);
    let job = place.shown();
    let went_on = job["status"] == "completed"
        || job["hold"]["reason"].as_str().is_some_and(|reason| reason.starts_with("Budget"));
    assert!(went_on, "{job} {}", String::from_utf8_lossy(&ended.stderr));
    assert_ne!(job["checkpoint"].as_str(), Some(checkpoint.as_str()), "another question");
}

#[test]
fn what_a_paused_attempt_used_is_counted() {
    let place = Place::with(working(60_000));
    let mut child = place.start(&[
        "job",
        "Do it",
        "--agent",
        "builtin",
        "--autonomy",
        r#"{"level": "full", "budget": {"tokens": 1000000}}"#,
    ]);
    let id = place.until("the second request", || {
        let runs = place.json(&["runs"]);
        let id = runs["items"][0]["run_id"].as_str()?.to_owned();
        place.expect(&["log", &id], 0).contains("5000 tokens").then_some(id)
    });
    place.expect(&["pause", &id], 0);
    child.wait().unwrap();
    let job = place.shown();
    assert_eq!(job["status"], "paused", "{job}");
    assert!(job["job"]["spent"]["tokens"].as_u64().unwrap() >= 5000, "{}", job["job"]["spent"]);
    assert!(job["job"]["spent"]["time_ms"].as_u64().unwrap() > 0);
    // Nothing is lost.
    assert_eq!(place.git(&id, &["show", "phase-2-tactical:a.txt"]), "a\n");
}

/// Reached while the model thinks; without the budget it would think for a minute and pass.
#[test]
fn cost_and_time_are_budgets_too() {
    for budget in [json!({"cost": 0.004}), json!({"time": "1s"})] {
        let place = Place::with(json!({"answers": [{"says": "# Phase 1 (strategic) of job", "turns": [
            {"calls": [{"run": "echo a > a.txt"}], "usage": {"input": 5000, "output": 0}},
            {"calls": [{"tool": "job_complete", "input": {"summary": "all done"}}], "delay_ms": 60_000},
            {"text": "the end"}]}]}));
        let level = json!({"level": "full", "budget": budget}).to_string();
        let job = place.job(&level, &[], 3);
        assert_eq!(job["status"], "pending_review", "{budget}: {job}");
        let reason = job["hold"]["reason"].as_str().unwrap();
        let kind = budget.as_object().unwrap().keys().next().unwrap();
        assert!(reason.starts_with("Budget reached") && reason.contains(kind.as_str()), "{reason}");
        let spent = &job["job"]["spent"];
        if *kind == "cost" {
            assert_eq!(spent["cost"], 0.005, "{spent}");
        }
    }
}
