use checkrein_core::principal::Role;
use serde_json::json;

use super::make;
use crate::place::Place;

#[test]
fn frames_are_pushed_popped_planned_and_undone() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let pushed = make(&agent, "s1", &json!({"move": "push", "goal": "build"}));
    assert_eq!((&pushed["session"], &pushed["current"]["id"]), (&json!("s1"), &json!("f1")));
    make(&agent, "s1", &json!({"move": "push", "goal": "parse"}));
    make(&agent, "s1", &json!({"move": "plan", "goal": "print", "parent": "f1"}));
    let popped =
        make(&agent, "s1", &json!({"move": "pop", "summary": "it parses", "artifacts": ["parse.rs"]}));
    assert_eq!((&popped["frame"]["status"], &popped["current"]["id"]), (&json!("completed"), &json!("f1")));
    // The one that was changed last needs no name.
    assert_eq!(make(&agent, "-", &json!({"move": "undo"}))["undone"], "pop of f2");
    let tree = make(&agent, "-", &json!({"move": "tree"}));
    assert_eq!(tree["frames"].as_array().unwrap().len(), 3);
}

#[test]
fn what_cannot_be_done_is_refused_and_says_why() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    make(&agent, "s1", &json!({"move": "push", "goal": "build"}));
    let refused = |session: &str, command: serde_json::Value, status: u16, kind: &str| {
        agent.post(&format!("/v1/frames/{session}/moves"), &command).refused(status, kind)
    };
    let root = refused("s1", json!({"move": "pop"}), 409, "frame-refused");
    assert_eq!(root["detail"], "frame `f1` is a root and cannot be popped");
    refused("s1", json!({"move": "activate", "frame": "f9"}), 404, "not-found");
    refused("none", json!({"move": "tree"}), 404, "not-found");
    refused("s1", json!({"move": "push", "goal": ""}), 422, "invalid");
    refused("s1", json!({"move": "jump"}), 422, "invalid");
    refused("s1", json!({"move": "config", "level": "full"}), 422, "invalid");
    refused("..", json!({"move": "push", "goal": "x"}), 422, "invalid");
    refused("a%2Fb", json!({"move": "push", "goal": "x"}), 422, "invalid");
}

#[test]
fn agents_do_not_see_the_sessions_of_others() {
    let place = Place::new();
    let (one, other) = (place.token(Role::Agent, "one"), place.token(Role::Agent, "other"));
    let (one, other) = (place.bearer(&one), place.bearer(&other));
    make(&one, "mine", &json!({"move": "push", "goal": "secret plan"}));
    for command in [json!({"move": "tree"}), json!({"move": "push", "goal": "x"})] {
        other.post("/v1/frames/mine/moves", &command).refused(404, "not-found");
    }
    assert_eq!(make(&other, "-", &json!({"move": "tree"}))["frames"], json!([]));
    assert_eq!(other.get("/v1/frames").expect(200).json()["items"], json!([]));
    // Somebody who may see everything does.
    assert_eq!(
        place.as_role(Role::Viewer).get("/v1/frames").expect(200).json()["items"][0]["goal"],
        "secret plan"
    );
    place
        .as_role(Role::Viewer)
        .post("/v1/frames/mine/moves", &json!({"move": "undo"}))
        .refused(403, "forbidden");
}
