use checkrein_core::principal::Role;
use serde_json::json;

use super::make;
use crate::place::Place;

#[test]
fn the_log_of_a_frame_is_a_file_that_can_be_read() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let pushed = make(&agent, "s1", &json!({"move": "push", "goal": "build \u{1b}[31m"}));
    make(&agent, "s1", &json!({"move": "add_decision", "decision": "two\nlines"}));
    let path = pushed["frame"]["log_path"].as_str().unwrap();
    let there = std::fs::read_to_string(path).unwrap();
    assert!(there.contains("decision: two\n    lines"), "{there}");
    let shown = agent.get("/v1/frames/s1/log?frame=f1").expect(200).body;
    assert!(shown.contains("began: build") && !shown.contains('\u{1b}'), "{shown}");
}
