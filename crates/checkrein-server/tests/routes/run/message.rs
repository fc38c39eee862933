use checkrein_core::principal::Role;
use serde_json::json;

use super::{by_a_model, start, until, workflow};

#[test]
fn a_message_reaches_the_agent_that_works() {
    let gate = tempfile::tempdir().unwrap();
    let open = gate.path().join("open");
    let wait = format!("while ! test -f '{}'; do sleep 0.05; done", open.display());
    let (place, model) = by_a_model(json!({"answers": [
        {"says": "sign it with love", "turns": [{"calls": [{"run": "echo love > signed.txt"}]}, {"text": "signed"}]},
        {"says": "# Phase 1 (strategic) of job", "turns": [
            {"calls": [{"tool": "next_phase_todos", "input": {"todos": ["do it"]}}]}, {"calls": [{"run": wait}]}, {"text": "planned"}]},
    ]}));
    let reviewer = place.as_role(Role::Reviewer);
    let id = crate::job::give(&reviewer, &json!({"description": "plan it"}));
    until(&reviewer, &id, "attempt_started");
    let path = format!("/v1/runs/{id}/message");
    let said = reviewer.post(&path, &json!({"text": "sign it with love"})).expect(201).json();
    assert_eq!((&said["id"], &said["text"]), (&json!("c1"), &json!("sign it with love")));
    for (role, status) in [(Role::Viewer, 403), (Role::Agent, 403)] {
        place.as_role(role).post(&path, &json!({"text": "I approve"})).refused(status, "forbidden");
    }
    reviewer.post(&path, &json!({"text": ""})).refused(422, "invalid");
    reviewer.post("/v1/runs/none/message", &json!({"text": "hello"})).refused(404, "not-found");
    std::fs::write(&open, "").unwrap();
    until(&reviewer, &id, "run_held");
    assert!(model.asked().iter().any(|asked| asked.body.to_string().contains("sign it with love")));
    let did = reviewer.get(&format!("/v1/runs/{id}/activity")).expect(200).json();
    let heard = did["items"].as_array().unwrap().iter().filter(|item| item["did"] == "heard").count();
    assert_eq!(heard, 1, "{did}");
}

#[test]
fn a_run_without_an_agent_hears_nothing() {
    let place = crate::place::Place::new();
    let admin = place.as_role(Role::Admin);
    let id = start(&admin, &workflow("true"));
    let path = format!("/v1/runs/{id}/message");
    assert_eq!(admin.post(&path, &json!({"text": "hello"})).status / 100, 4);
}
