use checkrein_core::principal::Role;
use serde_json::json;

use super::{start, until, workflow};
use crate::job::{digest, of_agent};
use crate::place::Place;

#[test]
fn the_same_work_under_a_new_id() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let id = start(&admin, &workflow("true"));
    until(&admin, &id, "run_ended");
    let answer = admin.send("POST", &format!("/v1/runs/{id}/rerun"), None).expect(201);
    let again = answer.json();
    assert_eq!(again["rerun_of"], id);
    let new = again["run_id"].as_str().unwrap();
    assert_ne!(new, id);
    assert_eq!(answer.header("location").unwrap(), format!("/v1/runs/{new}"));
    assert_eq!(until(&admin, new, "run_ended")["status"], "completed");
}

/// A new run begins with the policy the old one began with: what a person did to that must not be undone by
/// an agent.
#[test]
fn an_agent_does_not_begin_again_what_a_person_stopped_or_changed() {
    let place = crate::job::making().start();
    let (ann, token) = (place.as_role(Role::Reviewer), place.token(Role::Agent, "bot"));
    let bot = place.bearer(&token);
    let rerun = |id: &str| format!("/v1/runs/{id}/rerun");
    let (held, _) = of_agent(&place, &token);
    ann.post(&format!("/v1/runs/{held}/cancel"), &json!({"reason": "no"})).expect(200);
    bot.send("POST", &rerun(&held), None).refused(403, "forbidden");
    let (changed, checkpoint) = of_agent(&place, &token);
    ann.post(&format!("/v1/jobs/{changed}/level"), &json!({"autonomy": "full"})).expect(200);
    let approve = json!({"verdict": "approve", "digest": digest(&ann, &checkpoint)});
    ann.post(&format!("/v1/checkpoints/{checkpoint}/verdict"), &approve).expect(200);
    assert_eq!(until(&ann, &changed, "run_ended")["status"], "completed");
    bot.send("POST", &rerun(&changed), None).refused(403, "forbidden");
    let again = ann.send("POST", &rerun(&changed), None).expect(201).json();
    assert_eq!(again["rerun_of"], changed);
}

#[test]
fn of_the_version_that_was_looked_at() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let id = start(&admin, &workflow("true"));
    until(&admin, &id, "run_ended");
    let path = format!("/v1/runs/{id}/rerun");
    admin.clone().header("If-Match", "\"1\"").send("POST", &path, None).refused(412, "precondition-failed");
    let etag = admin.get(&format!("/v1/runs/{id}")).header("etag").unwrap().to_owned();
    admin.clone().header("If-Match", &etag).send("POST", &path, None).expect(201);
}
