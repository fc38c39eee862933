use checkrein_core::principal::Role;
use serde_json::json;

use super::{start, until, workflow};
use crate::place::Place;

#[test]
fn what_runs_is_ended_for_now_and_goes_on_when_it_is_resumed() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let gate = place.path().join("gate");
    let id = start(&admin, &workflow(&format!("test -f '{}' || sleep 1000", gate.display())));
    until(&admin, &id, "attempt_started");
    let path = format!("/v1/runs/{id}/pause");
    place.as_role(Role::Agent).send("POST", &path, None).refused(403, "forbidden");
    admin.clone().header("If-Match", "\"1\"").send("POST", &path, None).refused(412, "precondition-failed");
    let paused = admin.send("POST", &path, None).expect(200).json();
    assert_eq!(paused["status"], "paused");
    admin.send("POST", &path, None).refused(409, "run-refused");
    admin.send("POST", "/v1/runs/none/pause", None).refused(404, "not-found");
    std::fs::write(&gate, "").unwrap();
    admin.send("POST", &format!("/v1/runs/{id}/resume"), None).expect(202);
    assert_eq!(until(&admin, &id, "run_ended")["status"], "completed");
}

/// What an agent did until then is on its branch.
#[test]
fn nothing_an_agent_did_is_lost() {
    let (place, _model) =
        super::by_a_model(json!({"answers": [{"says": "# Phase 1 (strategic) of job", "turns": [
        {"calls": [{"tool": "write_file", "input": {"path": "plan.md", "content": "# Plan\n"}}]},
        {"calls": [{"run": "sleep 1000"}]}]}]}));
    let reviewer = place.as_role(Role::Reviewer);
    let id = crate::job::give(&reviewer, &json!({"description": "plan it"}));
    let activity = format!("/v1/runs/{id}/activity");
    while !reviewer.get(&activity).expect(200).body.contains("sleep 1000") {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let paused = reviewer.send("POST", &format!("/v1/runs/{id}/pause"), None).expect(200).json();
    assert_eq!(paused["status"], "paused");
    let repository = place.path().join("jobs").join(&id).join("repository.git");
    let shown = std::process::Command::new("git")
        .arg("--git-dir")
        .arg(&repository)
        .args(["show", "phase-1-strategic:plan.md"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&shown.stdout), "# Plan\n");
}
