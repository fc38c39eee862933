use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn only_what_one_may_see_can_be_judged() {
    let place = Place::new();
    let (one, other) = (place.token(Role::Agent, "one"), place.token(Role::Agent, "other"));
    let (one, other) = (place.bearer(&one), place.bearer(&other));
    let path = format!("/v1/suggestions/{}/feedback", crate::frame::suggested(&one, "s1"));
    let judged = one.post(&path, &json!({"useful": true})).expect(200).json();
    assert_eq!(judged["suggestion"]["useful"], true);
    other.post(&path, &json!({"useful": false})).refused(404, "not-found");
    one.post("/v1/suggestions/none/feedback", &json!({"useful": false})).refused(404, "not-found");
    one.post(&path, &json!({})).refused(422, "invalid");
}
