use checkrein_core::principal::Role;
use serde_json::json;

use super::{ask, judge};
use crate::place::Place;

#[test]
fn what_is_taken_back_is_decided() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    ask(&reviewer, "c1");
    let gone = reviewer.post("/v1/checkpoints/c1/withdraw", &json!({"reason": "gone"})).expect(200).json();
    assert_eq!((&gone["status"], &gone["reason"]), (&json!("withdrawn"), &json!("gone")));
    judge(&reviewer, "c1", "approve").refused(409, "already-decided");
    ask(&reviewer, "c2");
    assert_eq!(
        reviewer.send("POST", "/v1/checkpoints/c2/withdraw", None).expect(200).json()["reason"],
        json!(null)
    );
    reviewer.send("POST", "/v1/checkpoints/none/withdraw", None).refused(404, "not-found");
}
