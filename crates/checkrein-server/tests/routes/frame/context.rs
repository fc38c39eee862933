use checkrein_core::principal::Role;
use serde_json::json;

use super::make;
use crate::place::Place;

#[test]
fn the_context_fits_the_budget() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    make(&agent, "s1", &json!({"move": "push", "goal": "build & <ship>"}));
    make(&agent, "s1", &json!({"move": "push", "goal": "parse ".repeat(200)}));
    let context = agent.get("/v1/frames/s1/context?tokens=150").expect(200).json()["context"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(context.len() <= 600 && context.contains("build &amp; &lt;ship&gt;"), "{context}");
    agent.get("/v1/frames/s1/context?tokens=5").refused(422, "invalid");
    agent.get("/v1/frames/s1/context?frame=f7").refused(404, "not-found");
}
