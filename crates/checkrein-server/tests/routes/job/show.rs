use checkrein_core::principal::Role;
use serde_json::json;

use super::{at_its_plan, digest, held_again, making};
use crate::run::{start, until, workflow};

#[test]
fn where_it_stands_from_its_plan_to_its_end() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (id, checkpoint) = at_its_plan(&ann);
    let answer = ann.get(&format!("/v1/jobs/{}", &id[id.len() - 5..])).expect(200);
    assert!(answer.header("etag").is_some());
    let job = answer.json();
    assert_eq!(
        json!([job["run_id"], job["status"], job["level"], job["checkpoint"], job["description"]]),
        json!([id, "pending_review", "partial", checkpoint, "write it"])
    );
    assert_eq!(
        job["phase"],
        json!({"name": "phase-1-strategic", "number": 1, "kind": "strategic", "revision": 1, "round": 1, "stage": "work"})
    );
    assert!(job["plan"].as_str().unwrap().contains("the cat sat"), "{job}");
    let names: Vec<&str> =
        job["branches"].as_array().unwrap().iter().map(|branch| branch["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["main", "phase-1-strategic"]);
    assert_eq!(job["clone_url"], format!("http://{}/git/{id}.git", place.address));
    assert_eq!(job["config"]["repository"], "own");
    assert_eq!(job["config"]["isolation"], "none");
    // A job is a run.
    assert_eq!(ann.get(&format!("/v1/runs/{id}")).expect(200).json()["status"], "pending_review");
    let report = ann.get(&format!("/v1/runs/{id}/report?as=markdown")).expect(200).body;
    assert!(report.contains("Phase-1-strategic"), "{report}");

    let approve = json!({"verdict": "approve", "digest": digest(&ann, &checkpoint)});
    ann.post(&format!("/v1/checkpoints/{checkpoint}/verdict"), &approve).expect(200);
    let last = held_again(&ann, &id, "phase-3-strategic", 1);
    let job = ann.get(&format!("/v1/jobs/{id}")).expect(200).json();
    assert_eq!((&job["checkpoint"], job["phases"].as_array().unwrap().len()), (&json!(last), 3));
    let approve = json!({"verdict": "approve", "digest": digest(&ann, &last)});
    ann.post(&format!("/v1/checkpoints/{last}/verdict"), &approve).expect(200);
    assert_eq!(until(&ann, &id, "run_ended")["status"], "completed");
    let report = ann.get(&format!("/v1/runs/{id}/report")).expect(200).json();
    assert_eq!(report["status"], "completed", "{report}");
}

#[test]
fn only_jobs_and_only_what_may_be_seen() {
    let place = making().start();
    let admin = place.as_role(Role::Admin);
    let run = start(&admin, &workflow("true"));
    let (id, _) = at_its_plan(&admin);
    admin.get(&format!("/v1/jobs/{run}")).refused(422, "invalid");
    admin.get("/v1/jobs/none").refused(404, "not-found");
    admin.get("/v1/jobs/..%2F..%2Fstore.db").refused(404, "not-found");
    place.as_role(Role::Viewer).get(&format!("/v1/jobs/{id}")).expect(200);
    place.as_role(Role::Agent).get(&format!("/v1/jobs/{id}")).refused(404, "not-found");
    place.client().get(&format!("/v1/jobs/{id}")).refused(401, "unauthenticated");
}
