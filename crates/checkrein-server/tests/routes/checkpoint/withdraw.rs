use checkrein_core::principal::Role;
use serde_json::json;

use super::{ask, judge};
use crate::place::Place;
use crate::run::{start, until};

#[test]
fn what_is_taken_back_is_decided() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    ask(&reviewer, "c1");
    let gone = reviewer.post("/v1/checkpoints/c1/withdraw", &json!({"reason": "gone"})).expect(200).json();
    assert_eq!((&gone["status"], &gone["reason"]), (&json!("withdrawn"), &json!("gone")));
    judge(&reviewer, "c1", "approve").refused(409, "already-decided");
    ask(&reviewer, "c2");
    assert_eq!(
        reviewer.send("POST", "/v1/checkpoints/c2/withdraw", None).expect(200).json()["reason"],
        json!(null)
    );
    reviewer.send("POST", "/v1/checkpoints/none/withdraw", None).refused(404, "not-found");
}

#[test]
fn who_made_it_takes_it_back_or_an_admin() {
    let place = Place::new();
    let (agent, reviewer, admin) =
        (place.as_role(Role::Agent), place.as_role(Role::Reviewer), place.as_role(Role::Admin));
    let viewer = place.as_role(Role::Viewer);
    for (maker, other, id) in [(&agent, &reviewer, "a"), (&admin, &reviewer, "b")] {
        ask(maker, id);
        let path = format!("/v1/checkpoints/{id}/withdraw");
        other.send("POST", &path, None).refused(403, "forbidden");
        viewer.send("POST", &path, None).refused(403, "forbidden");
        maker.send("POST", &path, None).expect(200);
    }
    ask(&reviewer, "c");
    // What is somebody else's is not even there for an agent.
    agent.send("POST", "/v1/checkpoints/c/withdraw", None).refused(404, "not-found");
    admin.send("POST", "/v1/checkpoints/c/withdraw", None).expect(200);
}

#[test]
fn the_hold_of_a_run_is_taken_back_by_cancelling_the_run() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let gated = json!({"id": "w", "autonomy": {"require_approval_for": ["build"]},
        "phases": {"build": {"steps": [{"id": "a", "run": "true"}]}}});
    let run = start(&admin, &gated);
    let held = until(&admin, &run, "run_held");
    let hold = format!("/v1/checkpoints/{}", held["checkpoint"].as_str().unwrap());
    let refused = admin.send("POST", &format!("{hold}/withdraw"), None).refused(409, "run-refused");
    assert!(refused["hint"].as_str().unwrap().contains(&format!("checkrein cancel {run}")), "{refused}");
    assert_eq!(admin.get(&hold).expect(200).json()["status"], "pending");
    admin.send("POST", &format!("/v1/runs/{run}/cancel"), None).expect(200);
    let withdrawn = admin.get(&hold).expect(200).json();
    assert_eq!((&withdrawn["status"], &withdrawn["resolved_by"]), (&json!("withdrawn"), &json!(null)));
}
