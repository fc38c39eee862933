use checkrein_core::principal::Role;
use serde_json::{Value, json};

use crate::job::{at_its_plan, digest, making};
use crate::place::Client;

fn review(client: &Client, id: &str) -> Value {
    client.get(&format!("/v1/checkpoints/{id}/review")).expect(200).json()
}

#[test]
fn is_a_commit_in_a_persons_name_on_the_head_they_saw() {
    let place = making().start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let (_, id) = at_its_plan(&ann);
    let (path, before) = (format!("/v1/checkpoints/{id}/edits"), review(&ann, &id));
    let old = digest(&ann, &id);
    let write = |head: &Value, text: &str| {
        json!({"head": head, "message": "no cats", "files": [
            {"path": "plan.md", "action": "write", "text": text},
            {"path": "docs/new.md", "action": "create", "text": "new\n"},
        ]})
    };
    let edited = ann.post(&path, &write(&before["head"], "# Plan of ann\n")).expect(200).json();
    let after = review(&ann, &id);
    assert_eq!((&edited["head"], &edited["changed"]), (&after["head"], &json!(true)));
    assert_eq!((&after["moved"], &after["round"]), (&json!(true), &json!(1)));
    let commit = after["commits"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        json!([commit["author"], commit["email"], commit["human"], commit["message"]]),
        json!(["ann", "ann@people.checkrein.invalid", true, "no cats"])
    );
    // What was looked at before cannot be approved, nor written over.
    let stale = json!({"verdict": "approve", "digest": old});
    ann.post(&format!("/v1/checkpoints/{id}/verdict"), &stale).refused(409, "stale-digest");
    let problem = ann.post(&path, &write(&before["head"], "lost?\n")).refused(409, "stale-head");
    assert!(problem["detail"].as_str().unwrap().contains(after["head"].as_str().unwrap()), "{problem}");
    assert_eq!(review(&ann, &id)["head"], after["head"]);
    // The same again changes nothing.
    let same = json!({"head": after["head"], "files": [{"path": "plan.md", "action": "write", "text": "# Plan of ann\n"}]});
    assert_eq!(ann.post(&path, &same).expect(200).json(), json!({"head": after["head"], "changed": false}));
    let delete = json!({"head": after["head"], "files": [{"path": "docs/new.md", "action": "delete"}]});
    let deleted = ann.post(&path, &delete).expect(200).json();
    ann.get(&format!("/v1/checkpoints/{id}/file?path=docs/new.md")).refused(404, "not-found");
    let now = json!({"verdict": "approve", "digest": deleted["head"]});
    ann.post(&format!("/v1/checkpoints/{id}/verdict"), &now).expect(200);
    ann.post(&path, &delete).refused(409, "already-decided");
}

#[test]
fn only_what_can_be_a_file_and_only_people() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (_, id) = at_its_plan(&ann);
    let (path, head) = (format!("/v1/checkpoints/{id}/edits"), review(&ann, &id)["head"].clone());
    for (file, status, kind) in [
        (json!({"path": "../x", "action": "create", "text": "x"}), 422, "invalid"),
        (json!({"path": ".git/hooks/x", "action": "create", "text": "x"}), 422, "invalid"),
        (json!({"path": "plan.md/x", "action": "create", "text": "x"}), 409, "run-refused"),
        (json!({"path": "plan.md", "action": "create", "text": "x"}), 409, "run-refused"),
        (json!({"path": "none.md", "action": "write", "text": "x"}), 404, "not-found"),
        (json!({"path": "none.md", "action": "delete"}), 404, "not-found"),
        (json!({"path": "plan.md", "action": "write"}), 422, "invalid"),
        (json!({"path": "plan.md", "action": "write", "text": "x".repeat(2 << 20)}), 422, "invalid"),
    ] {
        ann.post(&path, &json!({"head": head, "files": [file]})).refused(status, kind);
    }
    ann.post(&path, &json!({"head": head, "files": []})).refused(422, "invalid");
    let edit = json!({"head": head, "files": [{"path": "plan.md", "action": "write", "text": "x"}]});
    for role in [Role::Viewer, Role::Agent] {
        place.as_role(role).post(&path, &edit).refused(403, "forbidden");
    }
    assert_eq!(review(&ann, &id)["head"], head);
}
