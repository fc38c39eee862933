use std::sync::Barrier;

use checkrein_core::principal::Role;
use serde_json::json;

use super::{ask, judge};
use crate::job::{at_its_plan, digest, held_anew, making};
use crate::place::Place;

#[test]
fn a_verdict_is_given_once() {
    let place = Place::new();
    let reviewer = place.bearer(&place.token(Role::Reviewer, "ann"));
    ask(&reviewer, "c1");
    let decided = judge(&reviewer, "c1", "approve").expect(200).json();
    assert_eq!((&decided["status"], &decided["resolved_by"]), (&json!("approved"), &json!("ann")));
    assert_eq!(judge(&reviewer, "c1", "approve").expect(200).json(), decided, "the same again is the same");
    judge(&reviewer, "c1", "reject").refused(409, "already-decided");
    assert_eq!(reviewer.get("/v1/checkpoints/c1").json()["status"], "approved");
}

#[test]
fn it_is_bound_to_what_was_looked_at() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    let made = ask(&reviewer, "c1");
    let give = |digest: &str| {
        reviewer.post("/v1/checkpoints/c1/verdict", &json!({"verdict": "approve", "digest": digest}))
    };
    give(&"0".repeat(64)).refused(409, "stale-digest");
    give("short").refused(422, "invalid");
    give(made["digest"].as_str().unwrap()).expect(200);
}

#[test]
fn it_is_bound_to_a_version_where_one_is_named() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    ask(&reviewer, "c1");
    let at = |version: &str| judge(&reviewer.clone().header("If-Match", version), "c1", "approve");
    let problem = at("\"7\"").refused(412, "precondition-failed");
    assert_eq!(problem["detail"], "`c1` is at version 1, not at 7");
    at("W/\"1\"").refused(400, "malformed");
    assert_eq!(reviewer.get("/v1/checkpoints/c1").json()["status"], "pending");
    at("\"1\"").expect(200);
    at("*").expect(200);
    at("\"1\"").refused(412, "precondition-failed");
}

#[test]
fn a_request_for_changes_needs_a_reason_and_an_agent_gives_no_verdict() {
    let place = Place::new();
    let (reviewer, agent) = (place.as_role(Role::Reviewer), place.as_role(Role::Agent));
    ask(&agent, "c1");
    let silent = json!({"verdict": "request_changes"});
    let problem = reviewer.post("/v1/checkpoints/c1/verdict", &silent).refused(422, "invalid");
    assert_eq!(problem["hint"], "say what should change", "{problem}");
    ask(&agent, "c2");
    reviewer.post("/v1/checkpoints/c2/verdict", &json!({"verdict": "reject"})).expect(200);
    assert_eq!(agent.get("/v1/checkpoints/c2").json()["rejection_reason"], "");
    reviewer.post("/v1/checkpoints/c1/verdict", &json!({"verdict": "maybe"})).refused(422, "invalid");
    for verdict in ["approve", "reject", "request_changes"] {
        let problem = judge(&agent, "c1", verdict).refused(403, "forbidden");
        assert!(problem["detail"].as_str().unwrap().contains("takes the role reviewer"), "{problem}");
    }
    assert_eq!(agent.get("/v1/checkpoints/c1").json()["status"], "pending");
    judge(&reviewer, "none", "approve").refused(404, "not-found");
}

#[test]
fn of_two_who_decide_at_once_one_wins() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    for number in 0..10 {
        let id = format!("c{number}");
        ask(&reviewer, &id);
        let barrier = Barrier::new(2);
        let statuses = std::thread::scope(|scope| {
            let deciding = ["approve", "reject"].map(|verdict| {
                let (reviewer, barrier, id) = (&reviewer, &barrier, &id);
                scope.spawn(move || {
                    barrier.wait();
                    judge(reviewer, id, verdict).status
                })
            });
            let mut statuses = deciding.map(|thread| thread.join().unwrap());
            statuses.sort_unstable();
            statuses
        });
        assert_eq!(statuses, [200, 409]);
    }
}

#[test]
fn a_get_never_decides() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    ask(&reviewer, "c1");
    for method in ["GET", "HEAD", "PUT", "PATCH", "OPTIONS"] {
        let answer = reviewer.send(method, "/v1/checkpoints/c1/verdict?verdict=approve", None);
        assert_eq!(answer.status, 405, "{method}");
    }
    assert_eq!(reviewer.get("/v1/checkpoints/c1").json()["status"], "pending");
}

#[test]
fn on_a_review_it_names_what_was_looked_at() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (_, id) = at_its_plan(&ann);
    let path = format!("/v1/checkpoints/{id}/verdict");
    ann.post(&path, &json!({"verdict": "approve"})).refused(409, "digest-needed");
    ann.post(&path, &json!({"verdict": "approve", "digest": "0".repeat(40)})).refused(409, "stale-digest");
    let head = ann.get(&format!("/v1/checkpoints/{id}/review")).json()["head"].clone();
    let decided = ann.post(&path, &json!({"verdict": "approve", "digest": head})).expect(200).json();
    assert_eq!(decided["status"], "approved");
}

#[test]
fn a_request_for_changes_takes_comments_and_may_start_over() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let path = format!("/v1/checkpoints/{id}/verdict");
    let verdict = |more: serde_json::Value| {
        let mut verdict = json!({"verdict": "request_changes", "reason": "no", "digest": digest(&ann, &id)});
        verdict.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ann.post(&path, &verdict)
    };
    for bad in [
        json!({"comments": [{"text": " "}]}),
        json!({"comments": [{"text": "x", "line": 3}]}),
        json!({"comments": [{"text": "x", "file": "plan.md", "line": 0}]}),
        json!({"verdict": "approve", "start_over": true}),
        json!({"startover": true}),
    ] {
        verdict(bad).refused(422, "invalid");
    }
    assert_eq!(ann.get(&format!("/v1/checkpoints/{id}")).json()["status"], "pending");
    let comment = json!({"text": "[FIX] a dog", "file": "plan.md", "line": 3});
    verdict(json!({"comments": [comment], "start_over": true})).expect(200);
    // On a new branch the rounds begin anew.
    let next = held_anew(&ann, &job, &id);
    let review = ann.get(&format!("/v1/checkpoints/{next}/review")).expect(200).json();
    assert_eq!((&review["branch"], &review["revision"]), (&json!("phase-1-strategic-rev-2"), &json!(2)));
    assert_eq!(review["comments"][0]["text"], "[FIX] a dog");
    // Only reviews have comments.
    ask(&ann, "plain");
    let plain = json!({"verdict": "approve", "comments": [{"text": "x"}]});
    ann.post("/v1/checkpoints/plain/verdict", &plain).refused(422, "invalid");
}

/// A line that is cut, and a file that is no text: approved only where somebody says so (R17).
#[test]
fn what_is_not_shown_has_to_be_confirmed() {
    let place = making().start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let (_, id) = at_its_plan(&ann);
    let review = || ann.get(&format!("/v1/checkpoints/{id}/review")).expect(200).json();
    assert_eq!(review()["not_shown"], json!([]));
    let long = format!("{}; attack()\n", "x".repeat(4_000));
    let files = json!([
        {"path": "a.js", "action": "create", "text": long},
        {"path": "b.bin", "action": "create", "text": "a\u{0}b"},
    ]);
    let edit = json!({"head": review()["head"], "message": "m", "files": files});
    ann.post(&format!("/v1/checkpoints/{id}/edits"), &edit).expect(200);
    let shown = review();
    let expected = json!([
        {"file": "a.js", "line": 1, "text": "10 bytes at the end of the line"},
        {"file": "b.bin", "text": "a file that is not text"},
    ]);
    assert_eq!((&shown["not_shown"], &shown["diff"]["cut"]), (&expected, &json!(true)));
    let cut = shown["diff"]["files"].as_array().unwrap().iter().find(|file| file["path"] == "a.js").unwrap();
    assert_eq!((&cut["cut"], &cut["hunks"][0]["lines"][0]["cut_bytes"]), (&json!(true), &json!(10)));
    let verdict = format!("/v1/checkpoints/{id}/verdict");
    let approve = json!({"verdict": "approve", "digest": shown["head"]});
    let problem = ann.post(&verdict, &approve).refused(409, "not-shown");
    assert_eq!(problem["errors"][0], json!({"path": "a.js:1", "message": "10 bytes at the end of the line"}));
    assert!(problem["hint"].as_str().unwrap().contains("confirmed"), "{problem}");
    let approve = json!({"verdict": "approve", "digest": shown["head"], "confirmed": true});
    ann.post(&verdict, &approve).expect(200);
    // The same again is no question any more.
    ann.post(&verdict, &json!({"verdict": "approve", "digest": shown["head"]})).expect(200);
}

#[test]
fn bytes_that_are_no_text_are_approved_by_who_confirms_it() {
    let place = Place::new();
    let (agent, ann) = (place.as_role(Role::Agent), place.as_role(Role::Reviewer));
    agent
        .post("/v1/checkpoints", &json!({"id": "b", "worker": "w", "deliverable_base64": "/wA="}))
        .expect(201);
    let expected = json!([{"text": "2 bytes that are not text"}]);
    assert_eq!(ann.get("/v1/checkpoints/b").expect(200).json()["not_shown"], expected);
    ann.post("/v1/checkpoints/b/verdict", &json!({"verdict": "approve"})).refused(409, "not-shown");
    ann.post("/v1/checkpoints/b/verdict", &json!({"verdict": "approve", "confirmed": true})).expect(200);
    ann.post("/v1/checkpoints/b/verdict", &json!({"verdict": "approve"})).expect(200);
}
