//! What becomes of runs that are long over.

use serde_json::Value;

use super::{expect, only_run, ran, scene, show, start, steps};
use crate::place::Place;

/// With the store in the place itself.
fn here(flow: &str) -> Place {
    scene(flow).file(".checkrein/.gitignore", "*\n")
}

fn ids(place: &Place) -> Vec<Value> {
    let listed = place.run(&["runs", "--json"]).json();
    listed["items"].as_array().unwrap().iter().map(|run| run["run_id"].clone()).collect()
}

fn output_of(place: &Place, id: &str) -> bool {
    place.path().join(".checkrein/runs").join(id).join("0001-build-a.stdout").exists()
}

#[test]
fn what_steps_returned_goes_before_the_run_itself() {
    let place = here(&steps(&[("a", "echo out"), ("b", "true")]));
    let (_, id) = ran(&place, &[], 0);
    let place = place.file("checkrein.yaml", "retention: {step_responses: 0s, checkpoints: 0s}");
    expect(&place.run(&["store", "sweep", "--dry-run"]), 0);
    assert!(output_of(&place, &id), "a rehearsal removes nothing");
    let swept = place.run(&["store", "sweep", "--json"]).json();
    assert_eq!((&swept["runs"], &swept["trimmed_runs"]), (&0.into(), &1.into()), "{swept}");
    assert!(!output_of(&place, &id));
    // How it ended is still known, by every way to ask.
    let shown = show(&place, &id);
    assert_eq!((&shown["status"], shown["phases"][0]["steps_done"].as_u64()), (&"completed".into(), Some(2)));
    let log = place.read(&format!(".checkrein/logs/{id}.jsonl"));
    assert!(log.contains("workflow-execution") && !log.contains("step-response"), "{log}");
    expect(&place.run(&["report", &id]), 0);
    expect(&place.run(&["log", &id]), 0);
    expect(&place.run(&["store", "check"]), 0);

    let place = place.file("checkrein.yaml", "retention: {runs: 0s}");
    assert_eq!(place.run(&["store", "sweep", "--json"]).json()["runs"], 1);
    assert_eq!(ids(&place), Vec::<Value>::new());
    assert!(!place.path().join(format!(".checkrein/logs/{id}.jsonl")).exists());
    expect(&place.run(&["store", "check"]), 0);
}

#[test]
fn what_is_unfinished_is_never_removed() {
    let place = here("autonomy: {ask: always}\nphases: {build: {steps: [{id: a, run: echo out}]}}");
    let (held, id) = start(&place, &[]);
    expect(&held, 3);
    let none = "retention: {runs: 0s, warned_runs: 0s, failed_runs: 0s, step_responses: 0s, checkpoints: 0s}\noutput: {quota_bytes: 0}";
    let place = place.file("checkrein.yaml", none);
    expect(&place.run(&["store", "sweep"]), 0);
    assert_eq!(only_run(&place), Some(id.clone()));
    assert!(output_of(&place, &id));
    // An answer that nobody has heard yet is kept with its run.
    let token = place.token("reviewer", "ann");
    expect(&place.run_as(&token, &["approve", &format!("{id}.1")]), 0);
    expect(&place.run(&["store", "sweep"]), 0);
    expect(&place.run(&["resume", &id]), 0);
    // Now it is over, and so is its time.
    expect(&place.run(&["store", "sweep"]), 0);
    assert_eq!(only_run(&place), None);
}

#[test]
fn output_over_the_quota_goes_the_oldest_first() {
    let place = here(&steps(&[("a", "head -c 5000 /dev/zero | tr '\\0' x")]));
    let (_, old) = ran(&place, &[], 0);
    // Ids of one second are in no order.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    expect(&place.run(&["run", "flow.yaml"]), 0);
    let new = ids(&place)[0].as_str().unwrap().to_owned();
    let place = place.file("checkrein.yaml", "output: {quota_bytes: 8000}");
    let swept = place.run(&["store", "sweep", "--json"]).json();
    assert!(swept["output_bytes"].as_u64().unwrap() >= 5000, "{swept}");
    assert!(!output_of(&place, &old) && output_of(&place, &new));
    assert_eq!(ids(&place).len(), 2);
}
