use checkrein_core::principal::Role;

use super::{start, until, workflow};
use crate::place::Place;

/// Fails the first time.
const ONCE: &str = "test -f tried || { touch tried; exit 1; }";

fn failing(place: &Place) -> String {
    ONCE.replace("tried", place.path().join("tried").to_str().unwrap())
}

#[test]
fn a_run_that_failed_goes_on() {
    let place = Place::making().working().start();
    let reviewer = place.as_role(Role::Reviewer);
    let id = start(&place.as_role(Role::Admin), &workflow(&failing(&place)));
    let failed = until(&reviewer, &id, "run_ended");
    assert_eq!(failed["status"], "failed");
    let path = format!("/v1/runs/{id}/resume");
    reviewer
        .clone()
        .header("If-Match", "\"1\"")
        .send("POST", &path, None)
        .refused(412, "precondition-failed");
    let resumed = reviewer.send("POST", &path, None).expect(202).json();
    assert_eq!((&resumed["status"], &resumed["attempt"]), (&"running".into(), &2.into()));
    // What it found before is shown at the end of the phase.
    let held = until(&reviewer, &id, "run_held");
    let mut events = reviewer.listen(&format!("/v1/runs/{id}/events?after=0"));
    crate::checkpoint::judge(&reviewer, held["checkpoint"].as_str().unwrap(), "approve").expect(200);
    let mut seen = Vec::new();
    while seen.iter().filter(|word| *word == "run_ended").count() < 2 {
        seen.push(events.next().unwrap().data["event"].as_str().unwrap().to_owned());
    }
    assert!(!seen.contains(&"attempt_interrupted".to_owned()), "{seen:?}");
    assert_eq!(reviewer.get(&format!("/v1/runs/{id}")).json()["status"], "completed_with_warnings");
    reviewer.send("POST", &path, None).refused(409, "run-refused");
}

#[test]
fn without_a_worker_it_is_recorded_for_one() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    let id = start(&admin, &workflow("true"));
    let resumed = admin.send("POST", &format!("/v1/runs/{id}/resume"), None).expect(202).json();
    assert_eq!(resumed["status"], "created");
    place.as_role(Role::Agent).send("POST", &format!("/v1/runs/{id}/resume"), None).refused(403, "forbidden");
    admin.send("POST", "/v1/runs/none/resume", None).refused(404, "not-found");
}

/// What is resumed is one of so many that go on at once.
#[test]
fn no_more_go_on_at_once_than_were_allowed() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let gate = place.path().join("gate");
    let text = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let failed = start(&admin, &workflow(&failing(&place)));
    until(&admin, &failed, "run_ended");
    let blocking = format!("while test ! -f '{}'; do sleep 0.05; done", text(gate.clone()));
    let blocked = [start(&admin, &workflow(&blocking)), start(&admin, &workflow(&blocking))];
    for id in &blocked {
        until(&admin, id, "attempt_started");
    }
    let resumed = admin.send("POST", &format!("/v1/runs/{failed}/resume"), None).expect(202).json();
    assert_eq!(resumed["status"], "running");
    let events = |id: &str| admin.get(&format!("/v1/runs/{id}/events")).json()["items"].to_string();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(events(&failed).matches("attempt_finished").count(), 1, "both places are taken");
    std::fs::write(&gate, "").unwrap();
    for id in &blocked {
        until(&admin, id, "run_ended");
    }
    // There is room for it now.
    until(&admin, &failed, "run_held");
}
