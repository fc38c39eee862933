use checkrein_core::principal::Role;
use serde_json::json;

use super::make;
use crate::place::Place;

#[test]
fn a_session_is_shown_with_its_settings_and_suggestions() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let id = super::suggested(&agent, "s1");
    let shown = agent.get("/v1/frames/s1").expect(200).json();
    assert_eq!(
        (&shown["frames"][0]["goal"], &shown["config"]["pushThreshold"]),
        (&json!("theirs"), &json!(1))
    );
    assert_eq!(shown["suggestions"][0]["id"], id);
    make(&agent, "s1", &json!({"move": "ignore", "id": id}));
    assert_eq!(agent.get("/v1/frames/s1").expect(200).json()["suggestions"], json!([]));
    agent.get("/v1/frames/none").refused(404, "not-found");
}
