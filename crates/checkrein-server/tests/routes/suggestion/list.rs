use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn suggestions_are_listed_by_session_and_status() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let (one, two) = (crate::frame::suggested(&agent, "one"), crate::frame::suggested(&agent, "two"));
    crate::frame::make(&agent, "one", &json!({"move": "ignore", "id": one}));
    let ids = |query: &str| {
        let page = agent.get(&format!("/v1/suggestions{query}")).expect(200).json();
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(""), [two.clone(), one.clone()]);
    assert_eq!(ids("?status=pending"), [two]);
    assert_eq!(ids("?session=one&status=ignored"), [one]);
    agent.get("/v1/suggestions?status=waiting").refused(400, "malformed");
}
