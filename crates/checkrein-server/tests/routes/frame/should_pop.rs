use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn the_heuristics_answer() {
    let place = Place::new();
    let viewer = place.as_role(Role::Viewer);
    let answer = viewer.post("/v1/frames/should-pop", &json!({"noProgressTurns": 6})).expect(200).json();
    assert_eq!(
        (&answer["should"], &answer["suggested_status"]),
        (&json!(false), &json!("blocked")),
        "{answer}"
    );
    let root = json!({"frame": {"has_parent": false}, "config": {"popThreshold": 0}});
    assert_eq!(viewer.post("/v1/frames/should-pop", &root).expect(200).json()["should"], false);
}
