use checkrein_core::principal::Role;
use serde_json::{Value, json};

use crate::place::Place;

#[test]
fn begins_a_conversation_that_is_its_beginners_alone() {
    let place = Place::new();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let made = ann.post("/v1/chats", &json!({})).expect(201);
    let chat = made.json();
    let path = format!("/v1/chats/{}", chat["id"].as_str().unwrap());
    assert_eq!(made.header("location"), Some(path.as_str()));
    assert_eq!((&chat["stage"], &chat["run_id"]), (&"before_job".into(), &Value::Null));
    assert_eq!(chat["tools"], json!(["update_instructions"]), "there is no endpoint to search the web");
    assert!(!chat["questions"].as_array().unwrap().is_empty());
    ann.get(&path).expect(200);
    place.as_role(Role::Admin).get(&path).expect(200);
    place.bearer(&place.token(Role::Reviewer, "bob")).get(&path).refused(404, "not-found");
    for role in [Role::Viewer, Role::Agent] {
        place.as_role(role).post("/v1/chats", &json!({})).refused(403, "forbidden");
    }
    // The same request again begins nothing new.
    let keyed = ann.header("Idempotency-Key", "k1");
    let first = keyed.post("/v1/chats", &json!({})).expect(201).json();
    assert_eq!(keyed.post("/v1/chats", &json!({})).expect(201).json()["id"], first["id"]);
}
