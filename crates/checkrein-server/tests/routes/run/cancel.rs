use checkrein_core::principal::Role;
use serde_json::json;

use super::{start, until, workflow};
use crate::place::Place;

#[test]
fn what_runs_is_ended() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let id = start(&admin, &workflow("sleep 1000"));
    let running = until(&admin, &id, "attempt_started");
    assert_eq!(running["status"], "running");
    let path = format!("/v1/runs/{id}/cancel");
    admin.clone().header("If-Match", "\"1\"").post(&path, &json!({})).refused(412, "precondition-failed");
    let gone = admin.post(&path, &json!({"reason": "changed our minds"})).expect(200);
    assert_eq!(gone.json()["status"], "cancelled");
    admin.send("POST", &path, None).refused(409, "run-refused");
    admin.send("POST", "/v1/runs/none/cancel", None).refused(404, "not-found");
}
