use checkrein_core::principal::Role;
use checkrein_core::run::RunId;
use serde_json::json;

use crate::job::create::git;
use crate::job::{at_its_plan, digest, held_anew, making};

#[test]
fn joins_both_sides_in_a_persons_name() {
    let place = making().start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let (job, id) = at_its_plan(&ann);
    let settle = |id: &str| format!("/v1/checkpoints/{id}/settlement");
    let body = json!({"head": "0".repeat(40), "files": [{"path": "plan.md", "take": "ours"}]});
    ann.post(&settle(&id), &body).refused(409, "run-refused");
    // Somebody else brings another plan to the main branch.
    let bare = place.engine.job_repository(&RunId::new(job.clone())).unwrap();
    git(place.path(), &["clone", "--quiet", "--branch", "main", bare.to_str().unwrap(), "other"]);
    let other = place.path().join("other");
    std::fs::write(other.join("plan.md"), "# Another plan\n").unwrap();
    git(&other, &["add", "--all"]);
    git(&other, &["commit", "--quiet", "--message", "another"]);
    git(&other, &["push", "--quiet", "origin", "main"]);
    let approve = |id: &str| json!({"verdict": "approve", "digest": digest(&ann, id)});
    ann.post(&format!("/v1/checkpoints/{id}/verdict"), &approve(&id)).expect(200);
    let held = held_anew(&ann, &job, &id);
    let review = ann.get(&format!("/v1/checkpoints/{held}/review")).expect(200).json();
    assert!(review["conflict"]["texts"][0]["text"].as_str().unwrap().contains("<<<<<<<"), "{review}");
    ann.post(&format!("/v1/checkpoints/{held}/verdict"), &approve(&held)).refused(409, "run-refused");
    let with = |files: serde_json::Value| json!({"head": review["head"], "files": files});
    let marked = json!([{"path": "plan.md", "take": "text", "text": review["conflict"]["texts"][0]["text"]}]);
    ann.post(&settle(&held), &with(marked)).refused(422, "invalid");
    ann.post(&settle(&held), &with(json!([{"path": "work.txt", "take": "ours"}]))).refused(422, "invalid");
    let stale = json!({"head": "0".repeat(40), "files": [{"path": "plan.md", "take": "ours"}]});
    ann.post(&settle(&held), &stale).refused(409, "stale-head");
    let both = json!([{"path": "plan.md", "take": "text", "text": "# Both plans\n"}]);
    let settled = ann.post(&settle(&held), &with(both)).expect(200).json();
    let parents = git(&bare, &["log", "-1", "--format=%P %an", settled["head"].as_str().unwrap()]);
    assert_eq!(parents.split(' ').count(), 3, "two parents and a name: {parents}");
    assert!(parents.ends_with(" ann"), "{parents}");
    ann.post(&format!("/v1/checkpoints/{held}/verdict"), &approve(&held)).expect(200);
    held_anew_after(&ann, &job, &held);
    assert_eq!(git(&bare, &["show", "main:plan.md"]), "# Both plans");
}

/// The job went on: it waits at its end now.
fn held_anew_after(client: &crate::place::Client, job: &str, known: &str) {
    let mut events = client.listen(&format!("/v1/runs/{job}/events"));
    let mut seen = false;
    while let Some(event) = events.next() {
        let event = event.data;
        seen |= event["checkpoint_id"] == known;
        if seen && event["event"] == "checkpoint_created" && event["checkpoint_id"] != known {
            return;
        }
    }
    panic!("it never went on");
}

#[test]
fn not_by_agents() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (_, id) = at_its_plan(&ann);
    let body = json!({"head": "x", "files": [{"path": "plan.md", "take": "ours"}]});
    for role in [Role::Viewer, Role::Agent] {
        let client = place.as_role(role);
        client.post(&format!("/v1/checkpoints/{id}/settlement"), &body).refused(403, "forbidden");
    }
}
