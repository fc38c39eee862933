use checkrein_core::principal::Role;
use serde_json::json;

use super::{start, until, workflow};
use crate::place::Place;

#[test]
fn a_worker_takes_it_up() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let sent = json!({"workflow": workflow("echo {name}"), "target": "main", "work_id": "7", "set": {"limits.max_total_errors": 3, "name": "x"}});
    let answer = admin.post("/v1/runs", &sent).expect(201);
    let made = answer.json();
    assert_eq!(
        (&made["status"], &made["target"], &made["work_id"]),
        (&json!("created"), &json!("main"), &json!("7"))
    );
    assert_eq!(made["policy"]["limits"]["max_total_errors"], 3);
    assert_eq!(answer.header("etag"), Some("\"1\""));
    let id = made["run_id"].as_str().unwrap();
    assert_eq!(answer.header("location").unwrap(), format!("/v1/runs/{id}"));
    assert_eq!(until(&admin, id, "run_ended")["status"], "completed");
}

#[test]
fn a_workflow_may_be_a_text() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    for (format, text) in [
        ("yaml", "id: w\nphases:\n  build: { steps: [ { id: a, run: 'true' } ] }\n"),
        ("json", r#"{"id": "w", "phases": {"build": {"steps": [{"id": "a", "run": "true"}]}}}"#),
        ("toml", "id = 'w'\n[[phases.build.steps]]\nid = 'a'\nrun = 'true'\n"),
    ] {
        let made = admin.post("/v1/runs", &json!({"workflow": text, "format": format})).expect(201).json();
        assert_eq!(made["workflow_id"], "w", "{format}");
        assert_eq!(made["phases"][0]["steps"], 1, "{format}");
    }
    let odd = json!({"id": "w", "autonomy": {"level": "guarded"}, "phases": {"build": {"steps": [{"id": "a", "run": "true"}]}}});
    let made = admin.post("/v1/runs", &json!({"workflow": odd})).expect(201).json();
    assert!(made["warnings"][0].as_str().unwrap().contains("legacy"), "{made}");
}

#[test]
fn mistakes_are_named_and_nothing_runs() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    for (sent, expected) in [
        (json!({"workflow": {"id": "w", "phases": {"build": {"steps": [{"id": "a", "rn": "true"}]}}}}), ""),
        (json!({"workflow": "id: [w"}), ""),
        (json!({"workflow": {"id": "w", "extends": "../../etc/passwd", "phases": {}}}), "stands alone"),
        (json!({"workflow": workflow("true"), "level": "nonsense", "phases": ["bild"]}), ""),
        (json!({"workflow": workflow("true"), "phases": ["bild"]}), "there is no phase `bild`"),
        (json!({"workflow": workflow("true"), "phases": []}), "`phases` is empty"),
        (json!({"workflow": workflow("true"), "set": {"warning_tolerence": "low"}}), "not a setting"),
        (json!({"workflow": workflow("true"), "set": {"autonomy.ask": "always"}}), "nor a placeholder"),
        (
            json!({"workflow": {"id": "w", "phases": {"build": {"steps": [{"id": "a", "agent": "do it"}]}}}}),
            "for an agent",
        ),
        (json!({}), "workflow"),
    ] {
        let problem = admin.post("/v1/runs", &sent).refused(422, "invalid");
        assert!(problem["detail"].as_str().unwrap().contains(expected), "{sent}: {problem}");
    }
    assert_eq!(admin.get("/v1/runs").json()["items"], json!([]));
}

/// Its commands are run by the server, which could do anything.
#[test]
fn only_an_administrator_sends_a_workflow() {
    let place = Place::making().working().start();
    for role in [Role::Viewer, Role::Agent, Role::Reviewer] {
        let client = place.as_role(role);
        client.post("/v1/runs", &json!({"workflow": workflow("true")})).refused(403, "forbidden");
    }
    let admin = place.as_role(Role::Admin);
    assert_eq!(admin.get("/v1/runs").json()["items"], json!([]));
    start(&admin, &workflow("true"));
}
