use checkrein_core::principal::Role;
use serde_json::json;

use super::start;
use crate::place::Place;

#[test]
fn what_a_run_was_started_with_without_the_values_of_variables() {
    let place = Place::making().start();
    let admin = place.as_role(Role::Admin);
    let workflow = json!({"id": "w", "phases": {"build": {"steps": [
        {"id": "a", "run": "true", "env": {"PASSWORD": "sesame-open"}},
    ]}}});
    let id = start(&admin, &workflow);
    let answer = admin.get(&format!("/v1/runs/{id}/definition")).expect(200);
    assert!(!answer.body.contains("sesame"), "{answer:?}");
    let definition = answer.json();
    let task = &definition["plan"]["phases"][0]["tasks"][0];
    assert_eq!((&task["id"], &task["env"]), (&json!("build:a"), &json!({"PASSWORD": "***"})));
    assert_eq!(definition["policy"]["ask"], "when_findings");
    admin.get("/v1/runs/none/definition").refused(404, "not-found");
    place.as_role(Role::Agent).get(&format!("/v1/runs/{id}/definition")).refused(404, "not-found");
}
