use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn the_heuristics_answer() {
    let place = Place::new();
    let viewer = place.as_role(Role::Viewer);
    let request = json!({
        "potentialGoal": "Fix login", "recentMessages": 20, "recentFileChanges": ["a", "b"], "errorCount": 2,
        "frame": {"goal": "Write docs"},
    });
    let answer = viewer.post("/v1/frames/should-push", &request).expect(200).json();
    assert_eq!((&answer["should"], &answer["confidence"]), (&json!(false), &json!(39)), "{answer}");
    for bad in [json!({"errors": 1}), json!({"frame": ["Write docs"]}), json!({"recentFileChanges": [null]})]
    {
        viewer.post("/v1/frames/should-push", &bad).refused(422, "invalid");
    }
}
