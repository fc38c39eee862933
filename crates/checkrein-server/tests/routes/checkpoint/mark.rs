use checkrein_core::principal::Role;
use serde_json::json;

use crate::job::{at_its_plan, digest, making, of_agent};

#[test]
fn an_approval_against_it_has_to_be_confirmed() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (_, id) = at_its_plan(&ann);
    let (files, verdict) = (format!("/v1/checkpoints/{id}/files"), format!("/v1/checkpoints/{id}/verdict"));
    let marked = || {
        let review = ann.get(&format!("/v1/checkpoints/{id}/review")).expect(200).json();
        let files = review["diff"]["files"].as_array().unwrap().clone();
        files.iter().find(|file| file["path"] == "plan.md").unwrap()["mark"].clone()
    };
    for (mark, shown) in [
        ("approved", json!("approved")),
        ("none", json!(null)),
        ("changes_requested", json!("changes_requested")),
    ] {
        ann.post(&files, &json!({"file": "plan.md", "mark": mark})).expect(200);
        assert_eq!(marked(), shown);
    }
    let approve = json!({"verdict": "approve", "digest": digest(&ann, &id)});
    let problem = ann.post(&verdict, &approve).refused(409, "files-marked");
    assert!(problem["hint"].as_str().unwrap().contains("confirmed"), "{problem}");
    let approve = json!({"verdict": "approve", "digest": digest(&ann, &id), "confirmed": true});
    ann.post(&verdict, &approve).expect(200);
    ann.post(&files, &json!({"file": "plan.md", "mark": "none"})).refused(409, "already-decided");
}

#[test]
fn only_files_that_changed_and_only_people() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let token = place.token(Role::Agent, "bot");
    let (_, id) = of_agent(&place, &token);
    let files = format!("/v1/checkpoints/{id}/files");
    let problem = ann.post(&files, &json!({"file": "../x", "mark": "approved"})).refused(422, "invalid");
    assert!(problem["detail"].as_str().unwrap().contains("did not change"), "{problem}");
    for bad in [json!({}), json!({"file": "plan.md"}), json!({"file": "plan.md", "mark": "fine"})] {
        ann.post(&files, &bad).refused(422, "invalid");
    }
    let mark = json!({"file": "plan.md", "mark": "approved"});
    place.bearer(&token).post(&files, &mark).refused(403, "forbidden");
    place.as_role(Role::Viewer).post(&files, &mark).refused(403, "forbidden");
    ann.post("/v1/checkpoints/none/files", &mark).refused(404, "not-found");
}
