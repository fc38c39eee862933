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

#[test]
fn processes_that_go_on_with_runs_and_the_queue() {
    let idle = Place::new();
    let admin = idle.as_role(Role::Admin);
    let flow = json!({"phases": {"build": {"steps": [{"id": "a", "run": "true"}]}}});
    admin.post("/v1/runs", &json!({"workflow": flow})).expect(201);
    let found = idle.as_role(Role::Viewer).get("/v1/workers").expect(200).json();
    assert_eq!(found["processes"], json!([]));
    assert_eq!(found["queue"]["waiting"], 1);
    assert_eq!(found["queue"]["stuck"][0]["why"], "no worker runs");

    let place = Place::making().working().start();
    let viewer = place.as_role(Role::Viewer);
    let found = loop {
        let found = viewer.get("/v1/workers").expect(200).json();
        if found["processes"] != json!([]) {
            break found;
        }
    };
    let process = &found["processes"][0];
    assert_eq!((&process["alive"], &process["labels"]), (&json!(true), &json!([])));
    assert_eq!(found["queue"], json!({"waiting": 0, "longest_ms": 0, "stuck": []}));
}

#[test]
fn a_job_says_what_a_worker_must_have() {
    let place = Place::making().user_settings("sandbox: off\nagent: cmd:true").start();
    let wanted = json!({"description": "x", "requires": ["gpu", "arm64"]});
    let job = place.as_role(Role::Admin).post("/v1/jobs", &wanted).expect(201).json();
    let id = job["run_id"].as_str().unwrap();
    let run = place.as_role(Role::Viewer).get(&format!("/v1/runs/{id}")).expect(200).json();
    assert_eq!(run["placement"]["requires"], json!(["arm64", "gpu"]));
    assert_eq!(run["placement"]["stuck"], "no worker that runs has `arm64`, `gpu`");
    let refused = json!({"description": "x", "requires": ["a b"]});
    place.as_role(Role::Admin).post("/v1/jobs", &refused).expect(422);
}
