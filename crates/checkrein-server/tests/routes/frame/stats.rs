use checkrein_core::principal::Role;
use serde_json::json;

use super::make;
use crate::place::Place;

#[test]
fn suggestions_are_counted_and_judged() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let id = super::suggested(&agent, "s1");
    make(&agent, "s1", &json!({"move": "push", "goal": "fix it"}));
    let stats = agent.get("/v1/frames/s1/stats").expect(200).json()["stats"].clone();
    assert_eq!((&stats["total"], &stats["push"], &stats["acted"]), (&json!(1), &json!(1), &json!(1)));
    assert_eq!(stats["heuristics"][0]["right"], 1);
    agent.post(&format!("/v1/suggestions/{id}/feedback"), &json!({"useful": false})).expect(200);
    let stats = agent.get("/v1/frames/s1/stats").expect(200).json()["stats"].clone();
    assert_eq!((&stats["not_useful"], &stats["heuristics"][0]["wrong"]), (&json!(1), &json!(1)));
}
