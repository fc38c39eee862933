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
fn a_no_needs_a_reason_and_an_agent_gives_none() {
    let place = Place::new();
    let (reviewer, agent) = (place.as_role(Role::Reviewer), place.as_role(Role::Agent));
    ask(&agent, "c1");
    for verdict in ["reject", "request_changes"] {
        let silent = json!({"verdict": verdict});
        reviewer.post("/v1/checkpoints/c1/verdict", &silent).refused(422, "invalid");
    }
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
