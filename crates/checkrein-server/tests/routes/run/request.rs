use checkrein_core::principal::Role;
use serde_json::json;

use super::{KEY, planned_by_a_model, until};

#[test]
fn one_request_is_shown_whole_and_without_the_key() {
    let (place, model) = planned_by_a_model();
    let reviewer = place.as_role(Role::Reviewer);
    let id = crate::job::give(&reviewer, &json!({"description": "plan it"}));
    until(&reviewer, &id, "run_held");
    let list = reviewer.get(&format!("/v1/runs/{id}/requests")).expect(200).json();
    let first = list[0]["id"].as_str().unwrap();
    let path = format!("/v1/runs/{id}/requests/{first}");
    let shown = reviewer.get(&path).expect(200);
    assert!(!shown.body.contains(KEY) && model.asked()[0].key.as_deref() == Some(KEY), "{}", shown.body);
    let shown = shown.json();
    assert_eq!(shown["id"], first);
    assert!(shown["request"]["messages"][0].to_string().contains("# Phase 1 (strategic)"), "{shown}");
    assert_eq!(shown["answer"]["stop"], "tools", "{shown}");
    reviewer.get(&format!("/v1/runs/{id}/requests/99.1")).refused(404, "not-found");
    place.as_role(Role::Agent).get(&path).refused(404, "not-found");
}
