use std::time::{Duration, Instant};

use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::Place;

#[test]
fn it_is_ready_while_its_store_is() {
    let place = Place::new();
    assert_eq!(place.client().get("/readyz").expect(200).body, "ready\n");
    // Whatever became of the store: the readers that are open see it.
    let store = rusqlite::Connection::open(place.path().join("store.db")).unwrap();
    store.execute_batch("PRAGMA foreign_keys = OFF; DROP TABLE checkpoints").unwrap();
    place.client().get("/readyz").refused(500, "internal");
}

/// Whoever spreads requests is told before nothing is answered any more.
#[test]
fn it_says_that_it_ends_before_it_does() {
    let place = Place::making().limits(|limits| limits.drain = Duration::from_secs(3600)).start();
    let agent = place.as_role(Role::Agent);
    place.begin_stop();
    let begun = Instant::now();
    while place.client().get("/readyz").status == 200 {
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
    place.client().get("/readyz").refused(503, "unavailable");
    place.client().get("/healthz").expect(200);
    agent.post("/v1/checkpoints", &json!({"worker": "w", "deliverable": "x"})).expect(201);
    place.abandon();
}
