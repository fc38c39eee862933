use checkrein_core::principal::Role;
use serde_json::json;

use super::{at_its_plan, digest, making};
use crate::run::{start, until, workflow};

#[test]
fn from_the_next_boundary_on() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (id, checkpoint) = at_its_plan(&ann);
    let level = format!("/v1/jobs/{id}/level");
    let changed = ann.post(&level, &json!({"autonomy": "full"})).expect(200).json();
    // What waits still waits.
    assert_eq!((&changed["level"], &changed["status"]), (&json!("full"), &json!("pending_review")));
    let approve = json!({"verdict": "approve", "digest": digest(&ann, &checkpoint)});
    ann.post(&format!("/v1/checkpoints/{checkpoint}/verdict"), &approve).expect(200);
    assert_eq!(until(&ann, &id, "run_ended")["status"], "completed");
}

#[test]
fn a_level_that_is_none_and_a_run_that_is_no_job_are_refused() {
    let place = making().start();
    let admin = place.as_role(Role::Admin);
    let (id, _) = at_its_plan(&admin);
    let level = format!("/v1/jobs/{id}/level");
    let block = admin.post(&level, &json!({"autonomy": {"level": "guided"}})).expect(200).json();
    assert_eq!(block["level"], "guided");
    for body in [json!({}), json!({"autonomy": "wild"}), json!({"autonomy": 3})] {
        admin.post(&level, &body).refused(422, "invalid");
    }
    assert_eq!(admin.get(&format!("/v1/jobs/{id}")).json()["level"], "guided");
    let run = start(&admin, &workflow("true"));
    admin.post(&format!("/v1/jobs/{run}/level"), &json!({"autonomy": "full"})).refused(409, "run-refused");
    for role in [Role::Viewer, Role::Agent] {
        place.as_role(role).post(&level, &json!({"autonomy": "full"})).refused(403, "forbidden");
    }
}
