use checkrein_core::principal::Role;
use serde_json::json;

use super::{planned_by_a_model, until};

#[test]
fn what_an_agent_does_is_told_in_parts() {
    let (place, _model) = planned_by_a_model();
    let reviewer = place.as_role(Role::Reviewer);
    let id = crate::job::give(&reviewer, &json!({"description": "plan it"}));
    until(&reviewer, &id, "run_held");
    let path = format!("/v1/runs/{id}/activity");
    let whole = reviewer.get(&path).expect(200).json();
    let items = whole["items"].as_array().unwrap();
    let did: Vec<&str> = items.iter().map(|item| item["did"].as_str().unwrap()).collect();
    assert_eq!(did.first(), Some(&"began"), "{did:?}");
    for word in ["called", "answered", "said", "used"] {
        assert!(did.contains(&word), "{word}: {did:?}");
    }
    let called = items.iter().find(|item| item["did"] == "called").unwrap();
    assert_eq!((&called["task"], &called["tool"]), (&json!("phase-1-strategic"), &json!("next_phase_todos")));
    assert_eq!((&whole["tokens"], &whole["cost"]), (&json!(1220), &json!(0.0014)));
    // Part after part is the same, and behind the last one there is nothing yet.
    let (mut parts, mut after) = (Vec::new(), String::new());
    loop {
        let page = reviewer.get(&format!("{path}?limit=1&after={after}")).expect(200).json();
        let items = page["items"].as_array().unwrap();
        after = page["next"].as_str().unwrap().to_owned();
        if items.is_empty() {
            break;
        }
        assert_eq!(items.len(), 1);
        parts.extend(items.clone());
    }
    assert_eq!(&parts, items);
    // Whoever has nothing to do with the job does not find it.
    place.as_role(Role::Viewer).get(&path).expect(200);
    place.as_role(Role::Agent).get(&path).refused(404, "not-found");
    place.client().get(&path).refused(401, "unauthenticated");
    reviewer.get("/v1/runs/none/activity").refused(404, "not-found");
    reviewer.get(&format!("{path}?limit=0")).refused(400, "malformed");
}
