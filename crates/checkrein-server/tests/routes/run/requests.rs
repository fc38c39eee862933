use checkrein_core::principal::Role;
use serde_json::json;

use super::{planned_by_a_model, until};

#[test]
fn what_was_asked_of_a_model_is_listed() {
    let (place, model) = planned_by_a_model();
    let reviewer = place.as_role(Role::Reviewer);
    let id = crate::job::give(&reviewer, &json!({"description": "plan it"}));
    until(&reviewer, &id, "run_held");
    let path = format!("/v1/runs/{id}/requests");
    let list = reviewer.get(&path).expect(200).json();
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), model.asked().len());
    assert_eq!((&list[0]["status"], &list[0]["model"]), (&json!(200), &json!("scripted")));
    assert!(list.iter().all(|one| one.get("request").is_none() && one.get("answer").is_none()), "{list:?}");
    place.as_role(Role::Agent).get(&path).refused(404, "not-found");
    reviewer.get("/v1/runs/none/requests").refused(404, "not-found");
}
