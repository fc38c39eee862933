use std::time::Instant;

use checkrein_core::principal::Role;

use super::{ask, judge};
use crate::place::Place;

#[test]
fn a_waiter_hears_the_verdict() {
    let place = Place::new();
    let (agent, reviewer) = (place.as_role(Role::Agent), place.as_role(Role::Reviewer));
    ask(&agent, "c1");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| agent.get("/v1/checkpoints/c1/wait?timeout=60s").expect(200));
        judge(&reviewer, "c1", "request_changes").expect(200);
        let heard = waiting.join().unwrap();
        assert_eq!(heard.json()["status"], "changes_requested");
        assert_eq!(heard.json()["reason"], "because");
        assert_eq!(heard.header("etag"), Some("\"2\""));
    });
    // Later it is answered at once.
    assert_eq!(agent.get("/v1/checkpoints/c1/wait").expect(200).json()["status"], "changes_requested");
}

#[test]
fn a_verdict_of_another_process_is_heard() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    ask(&agent, "c1");
    // Another handle of the same store, as another process has it.
    let store = checkrein_store::Store::open(&place.path().join("store.db")).unwrap();
    let settings = checkrein_core::config::Settings::new(None, None, None, Vec::new()).unwrap();
    let other = checkrein_engine::Engine::new(store, settings);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| agent.get("/v1/checkpoints/c1/wait?timeout=60s").expect(200));
        let verdict =
            checkrein_engine::VerdictRequest::new(checkrein_core::checkpoint::Verdict::Approve, None);
        place.wait(other.give_verdict(&crate::place::admin(), "c1", &verdict)).unwrap();
        assert_eq!(waiting.join().unwrap().json()["status"], "approved");
    });
}

#[test]
fn what_takes_too_long_is_answered_as_it_is() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    ask(&agent, "c1");
    assert_eq!(agent.get("/v1/checkpoints/c1/wait?timeout=10ms").expect(200).json()["status"], "pending");
    agent.get("/v1/checkpoints/c1/wait?timeout=soon").refused(400, "malformed");
    agent.get("/v1/checkpoints/none/wait?timeout=10ms").refused(404, "not-found");
}

#[test]
fn a_server_that_ends_answers_whoever_waits() {
    let mut place = Place::new();
    let agent = place.as_role(Role::Agent);
    ask(&agent, "c1");
    let waiting = agent.open("GET", "/v1/checkpoints/c1/wait?timeout=60s", None);
    // It is under way when another request that was sent later is answered.
    while !agent.get("/metrics").expect(200).body.contains("checkrein_http_connections 2") {}
    let begun = Instant::now();
    place.stop();
    assert!(begun.elapsed().as_secs() < 30, "it waited for the waiter");
    let mut stream = std::io::BufReader::new(waiting);
    assert_eq!(crate::place::read_head(&mut stream).0, 200);
}
