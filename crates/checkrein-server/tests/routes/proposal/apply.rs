use checkrein_core::principal::Role;
use serde_json::json;

use super::Proposing;

#[test]
fn is_a_commit_in_the_name_of_whoever_applies_it() {
    let at = Proposing::new();
    let before = at.review();
    for role in [Role::Viewer, Role::Agent] {
        at.place.as_role(role).post(&at.path("p1", "apply"), &json!({})).refused(403, "forbidden");
    }
    let bob = at.place.bearer(&at.place.token(Role::Reviewer, "bob"));
    let applied = bob.post(&at.path("p1", "apply"), &json!({})).expect(200).json();
    let after = at.review();
    assert_eq!((&applied["status"], &applied["settled_by"]), (&"applied".into(), &"bob".into()));
    assert_eq!((&applied["outcome"], &applied["base"]), (&after["head"], &before["head"]));
    let commit = after["commits"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(json!([commit["author"], commit["human"]]), json!(["bob", true]));
    assert!(
        commit["message"]
            .as_str()
            .unwrap()
            .starts_with("edit plan.md\n\nProposed by the companion (p1), asked by ann.")
    );
    let text = bob.get(&format!("/v1/checkpoints/{}/file?path=plan.md", at.checkpoint)).expect(200).json();
    assert!(text["text"].as_str().unwrap().contains("the cat lay on the mat"), "{text}");
    // It waits all the same.
    assert_eq!(after["status"], "pending");
    assert_eq!(at.ann.post(&at.path("p1", "apply"), &json!({})).expect(200).json(), applied, "once");
    at.ann.post(&at.path("p1", "discard"), &json!({})).refused(409, "already-decided");

    at.ann.post(&at.path("p2", "apply"), &json!({})).expect(200);
    let comment = at.review()["comments"][0].clone();
    assert_eq!(
        json!([comment["by"], comment["text"], comment["file"], comment["line"], comment["from_agent"]]),
        json!(["ann", "Which mat?", "plan.md", 3, false])
    );
    at.ann.post(&at.path("p3", "apply"), &json!({})).refused(404, "not-found");
}

#[test]
fn is_refused_where_the_file_is_another_one_by_now() {
    let at = Proposing::new();
    let edit = json!({"head": at.review()["head"], "files": [{"path": "plan.md", "action": "write", "text": "mine\n"}]});
    at.ann.post(&format!("/v1/checkpoints/{}/edits", at.checkpoint), &edit).expect(200);
    let head = at.review()["head"].clone();
    at.ann.post(&at.path("p1", "apply"), &json!({})).refused(409, "stale-head");
    assert_eq!(at.review()["head"], head);
}
