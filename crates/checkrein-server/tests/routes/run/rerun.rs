use checkrein_core::principal::Role;

use super::{start, until, workflow};
use crate::place::Place;

#[test]
fn the_same_work_under_a_new_id() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let id = start(&admin, &workflow("true"));
    until(&admin, &id, "run_ended");
    let answer = admin.send("POST", &format!("/v1/runs/{id}/rerun"), None).expect(201);
    let again = answer.json();
    assert_eq!(again["rerun_of"], id);
    let new = again["run_id"].as_str().unwrap();
    assert_ne!(new, id);
    assert_eq!(answer.header("location").unwrap(), format!("/v1/runs/{new}"));
    assert_eq!(until(&admin, new, "run_ended")["status"], "completed");
}
