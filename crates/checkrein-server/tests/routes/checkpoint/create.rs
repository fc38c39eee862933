use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn a_hold_is_pending_and_has_an_address() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let asked = json!({"worker_name": "writer", "phase": "draft", "type": "final_output", "deliverable": {"b": 1, "a": [2]}});
    let answer = agent.post("/v1/checkpoints", &asked).expect(201);
    let made = answer.json();
    assert_eq!(made["status"], "pending");
    assert_eq!((&made["worker"], &made["worker_name"]), (&json!("writer"), &json!("writer")));
    // Of the canonical form.
    assert_eq!(made["digest"], checkrein_core::deliverable::Digest::of(br#"{"a":[2],"b":1}"#).to_string());
    let address = answer.header("location").unwrap();
    assert_eq!(agent.get(address).expect(200).json()["deliverable"], json!({"b": 1, "a": [2]}));
}

#[test]
fn the_policy_of_the_worker_is_asked() {
    let place = Place::making().settings("workers: { free: { autonomy: autonomous } }").start();
    let agent = place.as_role(Role::Agent);
    for (worker, status) in [("free", "not_required"), ("other", "pending")] {
        let asked = json!({"worker": worker, "deliverable": "x"});
        assert_eq!(agent.post("/v1/checkpoints", &asked).expect(201).json()["status"], status, "{worker}");
    }
}

#[test]
fn an_id_stands_for_one_content() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let first = super::ask(&agent, "draft 1/ü");
    assert_eq!(super::ask(&agent, "draft 1/ü"), first);
    let other = json!({"id": "draft 1/ü", "worker": "writer", "phase": "draft", "deliverable": "other"});
    agent.post("/v1/checkpoints", &other).refused(409, "other-content");
    let shown = agent.get("/v1/checkpoints/draft%201%2F%C3%BC").expect(200).json();
    assert_eq!(shown["deliverable"], "the text");
}

#[test]
fn bytes_come_as_base64() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let asked = json!({"id": "b", "worker": "w", "deliverable_base64": "AJ+Slv8="});
    agent.post("/v1/checkpoints", &asked).expect(201);
    assert_eq!(agent.get("/v1/checkpoints/b").json()["deliverable"], json!({"base64": "AJ+Slv8="}));
}

#[test]
fn null_is_something_to_approve() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let made =
        agent.post("/v1/checkpoints", &json!({"id": "n", "worker": "w", "deliverable": null})).expect(201);
    assert_eq!(made.json()["digest"], checkrein_core::deliverable::Digest::of(b"null").to_string());
    assert_eq!(agent.get("/v1/checkpoints/n").json()["deliverable"], "null");
}

#[test]
fn mistakes_are_named_and_nothing_is_made() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    for (body, status, kind, expected) in [
        ("{", 400, "malformed", ""),
        ("{} {}", 400, "malformed", ""),
        (r#"{"deliverable": "x"}"#, 422, "invalid", "worker"),
        (r#"{"worker": "w"}"#, 422, "invalid", "nothing to approve"),
        (
            r#"{"worker": "w", "deliverable": "x", "deliverable_base64": "eA=="}"#,
            422,
            "invalid",
            "one of them",
        ),
        (r#"{"worker": "w", "deliverable_base64": "?"}"#, 422, "invalid", "not Base64"),
        (r#"{"worker": " ", "deliverable": "x"}"#, 422, "invalid", "`worker` is empty"),
        (r#"{"worker": "a\u200bb", "deliverable": "x"}"#, 422, "invalid", "do not show"),
        (r#"{"worker": "w", "deliverable": "x", "id": ""}"#, 422, "invalid", "cannot be an id"),
        (r#"{"worker": "w", "deliverable": "x", "phse": "p"}"#, 422, "invalid", "unknown key `phse`"),
        (r#"{"worker": 7, "deliverable": "x"}"#, 422, "invalid", "worker"),
        (
            r#"{"worker": "w", "deliverable": {"n": 9007199254740993}}"#,
            422,
            "invalid",
            "`9007199254740993` would",
        ),
        (
            r#"{"worker": "w", "deliverable": [12345678901234567890123]}"#,
            422,
            "invalid",
            "come back as another",
        ),
        (r#"{"worker": "w", "deliverable": 9007199254740993}"#, 422, "invalid", "come back as another"),
        (r#"{"worker": "w", "deliverable": {"a": 1, "a": 2}}"#, 422, "invalid", "key `a` is given twice"),
        (r#"{"worker": "w", "deliverable": "x", "deliverable": "y"}"#, 422, "invalid", "given twice"),
    ] {
        let problem = agent.send("POST", "/v1/checkpoints", Some(body)).refused(status, kind);
        assert!(problem["detail"].as_str().unwrap().contains(expected), "{body}: {problem}");
    }
    let misspelt = agent.send("POST", "/v1/checkpoints", Some(r#"{"worker": "w", "phse": "p"}"#)).json();
    assert_eq!(misspelt["errors"][0]["hint"], "did you mean `phase`?");
    assert_eq!(agent.get("/v1/checkpoints").json()["items"], json!([]));
}

/// Another worker may have a policy that asks for less.
#[test]
fn a_token_of_one_worker_asks_for_no_other() {
    let place = Place::making().settings("workers: {trusted: {autonomy: autonomous}}").start();
    let bound = place.bearer(&place.token_of(Role::Agent, "bot", Some("writer")));
    let asked = |worker: &str| json!({"worker": worker, "deliverable": "x"});
    assert_eq!(bound.post("/v1/checkpoints", &asked("writer")).expect(201).json()["status"], "pending");
    let refused = bound.post("/v1/checkpoints", &asked("trusted")).refused(403, "forbidden");
    assert!(refused["detail"].as_str().unwrap().contains("speaks for worker `writer`"), "{refused}");
    let free = place.as_role(Role::Agent);
    assert_eq!(free.post("/v1/checkpoints", &asked("trusted")).expect(201).json()["status"], "not_required");
    for id in [".", ".."] {
        free.post("/v1/checkpoints", &json!({"id": id, "worker": "w", "deliverable": "x"}))
            .refused(422, "invalid");
    }
}
