use checkrein_core::principal::Role;
use serde_json::{Value, json};

use crate::cockpit::{page, person};
use crate::job::{at_its_plan, digest, making, next_round, of_agent};

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

/// Whoever changes it, and however: by an edit here, or by the agent in the next round (R16).
#[test]
fn an_approval_ends_with_the_content_it_was_given_for() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let review = |id: &str| ann.get(&format!("/v1/checkpoints/{id}/review")).expect(200).json();
    let marks = |id: &str| -> Vec<Value> {
        let review = review(id);
        let file = |path: &str| {
            let files = review["diff"]["files"].as_array().unwrap();
            files.iter().find(|file| file["path"] == path).unwrap().clone()
        };
        ["plan.md", "todos.yaml"]
            .iter()
            .map(|path| json!([file(path)["mark"], file(path)["mark_lapsed"]]))
            .collect()
    };
    let files = format!("/v1/checkpoints/{id}/files");
    for file in ["plan.md", "todos.yaml"] {
        ann.post(&files, &json!({"file": file, "mark": "approved"})).expect(200);
    }
    assert_eq!(marks(&id), [json!(["approved", false]), json!(["approved", false])]);
    let before = review(&id)["head"].clone();
    let edit = |head: &Value, text: &str| {
        let write = json!({"path": "plan.md", "action": "write", "text": text});
        ann.post(&format!("/v1/checkpoints/{id}/edits"), &json!({"head": head, "files": [write]}))
            .expect(200);
    };
    edit(&before, "# Plan of somebody\n");
    assert_eq!(marks(&id), [json!([null, true]), json!(["approved", false])]);
    // What was on the screen before is not what would be marked now; what did not change is.
    let stale = json!({"file": "plan.md", "mark": "approved", "head": before});
    ann.post(&files, &stale).refused(409, "stale-head");
    ann.post(&files, &json!({"file": "todos.yaml", "mark": "approved", "head": before})).expect(200);
    ann.post(&files, &json!({"file": "plan.md", "mark": "approved", "head": review(&id)["head"]}))
        .expect(200);
    assert_eq!(marks(&id), [json!(["approved", false]), json!(["approved", false])]);
    let told = page(&person(&place, Role::Viewer, "vic"), &format!("/runs/{job}"));
    assert!(told.contains("no longer approved: plan.md"), "{told}");
    let again = next_round(&ann, &job, &id, &json!([]));
    assert_eq!(marks(&again)[0], json!([null, true]), "the agent wrote another plan");
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
