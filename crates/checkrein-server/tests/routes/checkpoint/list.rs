use checkrein_core::principal::Role;
use serde_json::Value;

use super::{ask, judge};
use crate::place::{Client, Place};

fn ids(client: &Client, query: &str) -> (Vec<String>, Value) {
    let page = client.get(&format!("/v1/checkpoints{query}")).expect(200).json();
    let ids = page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned());
    (ids.collect(), page["next"].clone())
}

#[test]
fn pages_and_filters() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    for number in 0..5 {
        ask(&reviewer, &format!("c{number}"));
    }
    judge(&reviewer, "c1", "approve").expect(200);
    assert_eq!(ids(&reviewer, "").0, ["c0", "c1", "c2", "c3", "c4"]);
    assert_eq!(ids(&reviewer, "?status=pending").0, ["c0", "c2", "c3", "c4"]);
    assert_eq!(ids(&reviewer, "?worker=nobody").0, Vec::<String>::new());
    assert_eq!(ids(&reviewer, "?phase=draft&type=deliverable&limit=1").0, ["c0"]);
    let mut all = Vec::new();
    let mut next = Value::from(0);
    while !next.is_null() {
        let (page, more) = ids(&reviewer, &format!("?limit=2&after={next}"));
        all.extend(page);
        next = more;
    }
    assert_eq!(all, ["c0", "c1", "c2", "c3", "c4"]);
    for query in ["?limit=0", "?limit=1001", "?limit=x", "?status=open", "?stat=pending", "?limit=1&limit=2"]
    {
        reviewer.get(&format!("/v1/checkpoints{query}")).refused(400, "malformed");
    }
}

#[test]
fn an_agent_sees_its_own_alone() {
    let place = Place::new();
    let (one, other) = (place.token(Role::Agent, "one"), place.token(Role::Agent, "other"));
    let (one, other) = (place.bearer(&one), place.bearer(&other));
    ask(&one, "of-one");
    ask(&other, "of-other");
    ask(&place.as_role(Role::Reviewer), "of-a-person");
    assert_eq!(ids(&one, "").0, ["of-one"]);
    assert_eq!(ids(&other, "?status=pending").0, ["of-other"]);
    assert_eq!(ids(&place.as_role(Role::Viewer), "").0.len(), 3);
    for id in ["of-other", "of-a-person", "nothing"] {
        one.get(&format!("/v1/checkpoints/{id}")).refused(404, "not-found");
        one.get(&format!("/v1/checkpoints/{id}/wait?timeout=0s")).refused(404, "not-found");
    }
    // Another token of the same agent sees the same.
    let again = place.bearer(&place.token(Role::Agent, "one"));
    assert_eq!(ids(&again, "").0, ["of-one"]);
    // Nobody learns what another one's checkpoint says by asking the same.
    let same = serde_json::json!({"id": "of-other", "worker": "writer", "phase": "draft", "deliverable": "the text"});
    one.post("/v1/checkpoints", &same).refused(409, "other-content");
}
