use checkrein_core::principal::Role;
use serde_json::json;

use super::{ask, judge};
use crate::place::Place;

#[test]
fn everything_about_it_with_its_version() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    ask(&reviewer, "c1");
    let answer = reviewer.get("/v1/checkpoints/c1").expect(200);
    assert_eq!(answer.header("etag"), Some("\"1\""));
    let shown = answer.json();
    for (key, value) in [
        ("id", json!("c1")),
        ("status", json!("pending")),
        ("type", json!("deliverable")),
        ("deliverable", json!("the text")),
        ("round", json!(1)),
        ("comments", json!([])),
        ("resolved_at", json!(null)),
    ] {
        assert_eq!(shown[key], value, "{key}");
    }
    judge(&reviewer, "c1", "reject").expect(200);
    let answer = reviewer.get("/v1/checkpoints/c1").expect(200);
    assert_eq!(answer.header("etag"), Some("\"2\""));
    assert_eq!(answer.json()["rejection_reason"], "because");
}

#[test]
fn what_is_not_there_is_not_found() {
    let place = Place::new();
    let viewer = place.as_role(Role::Viewer);
    for path in ["/v1/checkpoints/none", "/v1/checkpoints/..%2F..%2Fetc%2Fpasswd", "/v1/checkpoints/%00"] {
        let problem = viewer.get(path).refused(404, "not-found");
        assert!(problem["detail"].as_str().unwrap().starts_with("there is no checkpoint"), "{problem}");
    }
}
