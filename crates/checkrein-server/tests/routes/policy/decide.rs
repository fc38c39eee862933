use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn a_situation_is_decided() {
    let place = Place::new();
    let viewer = place.as_role(Role::Viewer);
    let request = json!({
        "scope": "workflow", "autonomy": {"warning_tolerance": "low"}, "boundary": {"kind": "step", "phase": "build"},
        "response": {"status": "warning", "warnings": ["Deprecated API: useCallback will be removed in v3.0"]},
    });
    let answer = viewer.post("/v1/policies/decide", &request).expect(200).json();
    assert_eq!(
        (&answer["outcome"], &answer["rule"]),
        (&json!("stop"), &json!("tolerance.warning")),
        "{answer}"
    );
    assert_eq!(answer["warnings"], json!([]));
    let odd = json!({"scope": "workflow", "autonomy": "guarded", "boundary": {"kind": "step"}});
    let odd = viewer.post("/v1/policies/decide", &odd).expect(200).json();
    assert!(odd["warnings"][0].as_str().unwrap().contains("legacy"), "{odd}");
    let wrong = json!({"scope": "workflow", "boundry": {"kind": "step"}});
    let problem = viewer.post("/v1/policies/decide", &wrong).refused(422, "invalid");
    assert!(problem["detail"].as_str().unwrap().contains("boundry"), "{problem}");
}
