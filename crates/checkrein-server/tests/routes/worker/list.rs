use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn those_that_have_an_entry_and_what_waits_of_each() {
    let settings = "workers: {trusted: {autonomy: autonomous}, writer: {autonomy: manual}, quick: {reviewer: auto-approve}}";
    let place = Place::making().settings(settings).start();
    let agent = place.as_role(Role::Agent);
    for worker in ["writer", "writer", "trusted", "other"] {
        agent.post("/v1/checkpoints", &json!({"worker": worker, "deliverable": "x"})).expect(201);
    }
    let listed = place.as_role(Role::Viewer).get("/v1/workers").expect(200).json();
    let rows: Vec<_> = listed["items"].as_array().unwrap().iter().collect();
    let words: Vec<_> = rows
        .iter()
        .map(|row| json!([row["name"], row["policy"]["level"], row["reviewer"], row["pending"]]))
        .collect();
    assert_eq!(
        json!(words),
        json!([
            ["quick", "semi_supervised", "auto-approve", 0],
            ["trusted", "autonomous", "pending", 0],
            ["writer", "manual", "pending", 2]
        ])
    );
    let part = place.as_role(Role::Viewer).get("/v1/workers?limit=1&after=1").expect(200).json();
    assert_eq!((&part["items"][0]["name"], &part["next"]), (&json!("trusted"), &json!(2)));
}
