use checkrein_core::principal::Role;
use serde_json::json;

use super::make;
use crate::place::Place;

#[test]
fn the_tree_is_a_picture() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    make(&agent, "s1", &json!({"move": "push", "goal": "<b>build</b>"}));
    let answer = agent.get("/v1/frames/s1/picture?width=time&search=build").expect(200);
    assert_eq!(answer.header("content-type"), Some("image/svg+xml"));
    assert!(answer.body.contains("&lt;b&gt;build") && !answer.body.contains("<b>"), "{}", answer.body);
    agent.get("/v1/frames/s1/picture?width=depth").refused(400, "malformed");
}
