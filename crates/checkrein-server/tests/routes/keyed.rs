//! `Idempotency-Key`.

use std::sync::Barrier;

use checkrein_core::principal::Role;
use serde_json::{Value, json};

use crate::place::{Client, Place};

fn asked() -> Value {
    json!({"worker": "w", "deliverable": "x"})
}

fn all(client: &Client, noun: &str) -> usize {
    client.get(&format!("/v1/{noun}")).json()["items"].as_array().unwrap().len()
}

#[test]
fn the_same_request_is_done_once() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent).header("Idempotency-Key", "k-1");
    let first = agent.post("/v1/checkpoints", &asked()).expect(201);
    assert_eq!(first.header("idempotency-replayed"), None);
    let again = agent.post("/v1/checkpoints", &asked()).expect(201);
    assert_eq!(again.body, first.body);
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(all(&agent, "checkpoints"), 1);
    // Another request under the key, and the key of somebody else.
    let other = json!({"worker": "w", "deliverable": "y"});
    agent.post("/v1/checkpoints", &other).refused(422, "idempotency-key-reused");
    agent.post("/v1/policies/classify", &json!({"texts": []})).expect(200);
    let bob = place.bearer(&place.token(Role::Agent, "bob")).header("Idempotency-Key", "k-1");
    bob.post("/v1/checkpoints", &other).expect(201);
    assert_ne!(agent.header("Idempotency-Key", "k-2").post("/v1/checkpoints", &asked()).body, first.body);
}

#[test]
fn it_outlives_the_server() {
    let place = Place::new();
    let token = place.token(Role::Agent, "bot");
    let first =
        place.bearer(&token).header("Idempotency-Key", "k").post("/v1/checkpoints", &asked()).expect(201);
    let place = place.restarted();
    let again =
        place.bearer(&token).header("Idempotency-Key", "k").post("/v1/checkpoints", &asked()).expect(201);
    assert_eq!((&again.body, again.header("idempotency-replayed")), (&first.body, Some("true")));
}

#[test]
fn a_request_that_nobody_finished_makes_nothing_twice() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    let first =
        agent.clone().header("Idempotency-Key", "k").post("/v1/checkpoints", &asked()).expect(201).json();
    // As if the server had died between doing it and keeping the answer.
    let store = rusqlite::Connection::open(place.path().join("store.db")).unwrap();
    let changed = store.execute("UPDATE answered SET status = NULL, headers = NULL, body = NULL", []);
    assert_eq!(changed.unwrap(), 1);
    let again = agent.clone().header("Idempotency-Key", "k").post("/v1/checkpoints", &asked()).expect(201);
    assert_eq!(again.json(), first);
    assert_eq!(again.header("idempotency-replayed"), None);
    assert_eq!(all(&agent, "checkpoints"), 1);

    let admin = place.as_role(Role::Admin);
    let run = json!({"workflow": {"id": "w", "phases": {"build": {"steps": [{"id": "a", "run": "true"}]}}}});
    let keyed = admin.clone().header("Idempotency-Key", "r");
    let first = keyed.post("/v1/runs", &run).expect(201).json();
    store.execute("UPDATE answered SET status = NULL, headers = NULL, body = NULL", []).unwrap();
    assert_eq!(keyed.post("/v1/runs", &run).expect(201).json()["run_id"], first["run_id"]);
    let rerun = format!("/v1/runs/{}/rerun", first["run_id"].as_str().unwrap());
    let keyed = admin.clone().header("Idempotency-Key", "rr");
    let first = keyed.send("POST", &rerun, None).expect(201).json();
    store.execute("UPDATE answered SET status = NULL, headers = NULL, body = NULL", []).unwrap();
    assert_eq!(keyed.send("POST", &rerun, None).expect(201).json()["run_id"], first["run_id"]);
    assert_eq!(all(&admin, "runs"), 2);
}

#[test]
fn many_at_once_make_one() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent).header("Idempotency-Key", "k");
    let barrier = Barrier::new(8);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let sending: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    agent.post("/v1/checkpoints", &asked()).status
                })
            })
            .collect();
        sending.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(
        statuses.contains(&201) && statuses.iter().all(|status| [201, 409].contains(status)),
        "{statuses:?}"
    );
    assert_eq!(all(&agent, "checkpoints"), 1);
}

#[test]
fn what_was_refused_may_be_mended() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    let keyed = reviewer.clone().header("Idempotency-Key", "k");
    let verdict = json!({"verdict": "approve"});
    keyed.post("/v1/checkpoints/c1/verdict", &verdict).refused(404, "not-found");
    crate::checkpoint::ask(&reviewer, "c1");
    keyed.post("/v1/checkpoints/c1/verdict", &verdict).expect(200);
    for bad in ["", " ", "a b", "ü", &"k".repeat(201)] {
        let client = reviewer.clone().header("Idempotency-Key", bad);
        client.post("/v1/checkpoints/c1/verdict", &verdict).refused(400, "malformed");
    }
}

/// A name is not who somebody is: two programs may have the same.
#[test]
fn a_key_is_of_one_token() {
    let place = Place::new();
    let [one, other] = [place.token(Role::Agent, "bot"), place.token(Role::Agent, "bot")]
        .map(|token| place.bearer(&token).header("Idempotency-Key", "k"));
    let first = one.post("/v1/checkpoints", &asked()).expect(201);
    let second = other.post("/v1/checkpoints", &asked()).expect(201);
    assert_eq!(second.header("idempotency-replayed"), None);
    assert_ne!(first.json()["id"], second.json()["id"]);
    other
        .post("/v1/checkpoints", &json!({"worker": "w", "deliverable": "y"}))
        .refused(422, "idempotency-key-reused");
}
