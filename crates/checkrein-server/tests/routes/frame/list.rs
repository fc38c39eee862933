use checkrein_core::principal::Role;
use serde_json::json;

use super::make;
use crate::place::Place;

#[test]
fn sessions_are_listed_newest_first() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    for session in ["one", "two", "three"] {
        make(&agent, session, &json!({"move": "push", "goal": session}));
    }
    let page = agent.get("/v1/frames?limit=2").expect(200).json();
    assert_eq!((&page["items"][0]["id"], &page["items"][1]["id"]), (&json!("three"), &json!("two")));
    let rest = agent.get(&format!("/v1/frames?before={}", page["next"])).expect(200).json();
    assert_eq!((&rest["items"][0]["id"], &rest["next"]), (&json!("one"), &json!(null)));
}
