use checkrein_core::principal::Role;
use serde_json::Value;

use super::{start, until, workflow};
use crate::place::Place;

#[test]
fn one_record_per_line() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let id = start(&admin, &workflow("echo hello"));
    until(&admin, &id, "run_ended");
    let answer = admin.get(&format!("/v1/runs/{id}/log")).expect(200);
    assert_eq!(answer.header("content-type"), Some("application/jsonl"));
    let records: Vec<Value> = answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = records.iter().map(|record| record["log_type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["step-response", "workflow-execution"]);
}
