use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn with_everything_it_extends() {
    let place = Place::making()
        .expert("mine", "$extends: coder\nautonomy: guided\ntimeout: 1h\n")
        .expert("broken", "autonomy: nonsense\n")
        .start();
    let viewer = place.as_role(Role::Viewer);
    let mine = viewer.get("/v1/experts/mine").expect(200).json();
    assert_eq!((&mine["level"], &mine["timeout"]), (&json!("guided"), &json!("1h")));
    assert_eq!(mine["extends"], json!(["coder"]));
    assert_eq!(viewer.get("/v1/policies?expert=mine").expect(200).json()["level"], "guided");
    viewer.get("/v1/policies?expert=none").refused(404, "not-found");
    viewer.get("/v1/policies?expert=mine&worker=w").refused(400, "malformed");
    viewer.get("/v1/experts/none").refused(404, "not-found");
    viewer.get("/v1/experts/..%2F..%2Fetc").refused(404, "not-found");
    viewer.get("/v1/experts/broken").refused(422, "invalid");
}
