use std::sync::atomic::{AtomicBool, Ordering};

use checkrein_core::principal::Role;
use serde_json::json;

use crate::checkpoint::{ask, judge};
use crate::place::Place;

#[test]
fn a_stream_begins_now_or_where_it_was_left() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    ask(&reviewer, "before");
    let mut now = reviewer.listen("/v1/events");
    ask(&reviewer, "after");
    let event = now.next().unwrap();
    assert_eq!((event.id, &event.data["checkpoint_id"]), (2, &json!("after")));
    let mut again = reviewer.listen("/v1/events?after=0");
    assert_eq!(again.next().unwrap().data["checkpoint_id"], "before");
    assert_eq!(again.next().unwrap().data["checkpoint_id"], "after");
    // The header is what a browser sends when it comes back.
    let mut back = reviewer.clone().header("Last-Event-ID", "1").listen("/v1/events?after=0");
    assert_eq!(back.next().unwrap().data["checkpoint_id"], "after");
    reviewer.clone().header("Last-Event-ID", "x").get("/v1/events").refused(400, "malformed");
    let listed = reviewer.get("/v1/events?limit=1").expect(200).json();
    assert_eq!((&listed["items"][0]["seq"], &listed["next"]), (&json!(1), &json!(1)));
}

/// Reads, is cut off and comes back, over and over, while others commit: in this process and, as the
/// command line does, through handles of their own whose commits are seen late.
#[test]
fn nothing_is_missed_across_reconnects_whoever_commits() {
    const EACH: usize = 150;
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    let done = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut seen: Vec<(i64, String)> = Vec::new();
            let mut connections = 0;
            while seen.len() < 3 * EACH * 2 {
                let last = seen.last().map_or(0, |(id, _)| *id);
                let mut events =
                    reviewer.clone().header("Last-Event-ID", &last.to_string()).listen("/v1/events");
                connections += 1;
                // Cut off in the middle of things.
                for _ in 0..1 + connections % 17 {
                    if seen.len() == 3 * EACH * 2 {
                        break;
                    }
                    let event = events.next().unwrap();
                    seen.push((event.id, event.data["checkpoint_id"].as_str().unwrap().to_owned()));
                }
            }
            done.store(true, Ordering::Relaxed);
            seen
        });
        for writer in 0..2 {
            let path = place.path().join("store.db");
            scope.spawn(move || {
                let store = checkrein_store::Store::open(&path).unwrap();
                let settings = checkrein_core::config::Settings::new(None, None, None, Vec::new()).unwrap();
                let engine = checkrein_engine::Engine::new(store, settings);
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                for number in 0..EACH {
                    let id = format!("other-{writer}-{number}");
                    runtime.block_on(async {
                        let new = checkrein_engine::NewCheckpoint {
                            id: Some(id.clone()),
                            worker: "w".to_owned(),
                            phase: String::new(),
                            kind: "deliverable".to_owned(),
                            deliverable: "x".into(),
                        };
                        let by = crate::place::admin();
                        engine.create_checkpoint(&by, new).await.unwrap();
                        let verdict = checkrein_core::checkpoint::Verdict::Approve;
                        let request = checkrein_engine::VerdictRequest::new(verdict, None);
                        engine.give_verdict(&by, &id, &request).await.unwrap();
                    });
                }
            });
        }
        for number in 0..EACH {
            let id = format!("own-{number}");
            ask(&reviewer, &id);
            judge(&reviewer, &id, "approve").expect(200);
        }
        reading.join().unwrap()
    });
    assert!(done.load(Ordering::Relaxed));
    let positions: Vec<i64> = seen.iter().map(|(id, _)| *id).collect();
    let expected: Vec<i64> = (1..=i64::try_from(3 * EACH * 2).unwrap()).collect();
    assert_eq!(positions, expected, "each event once, in order");
}

#[test]
fn whoever_falls_behind_reads_again() {
    let place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    let mut slow = reviewer.listen("/v1/events?after=0");
    // More than is kept for listeners, while nobody reads.
    let by = crate::place::admin();
    place.wait(async {
        for number in 0..3000 {
            let new = checkrein_engine::NewCheckpoint {
                id: Some(format!("{number:05}-{}", "long".repeat(40))),
                worker: "w".to_owned(),
                phase: "p".repeat(2000),
                kind: "deliverable".to_owned(),
                deliverable: "x".into(),
            };
            place.engine.create_checkpoint(&by, new).await.unwrap();
        }
    });
    for number in 1..=3000 {
        assert_eq!(slow.next().unwrap().id, number);
    }
}

#[test]
fn an_agent_hears_of_its_own_alone() {
    let place = Place::new();
    let (one, other) = (place.token(Role::Agent, "one"), place.token(Role::Agent, "other"));
    let (one, other) = (place.bearer(&one), place.bearer(&other));
    ask(&other, "b1");
    ask(&one, "a1");
    let mut old = one.listen("/v1/events?after=0");
    assert_eq!(old.next().unwrap().data["checkpoint_id"], "a1");
    ask(&other, "b2");
    judge(&place.as_role(Role::Reviewer), "b2", "approve").expect(200);
    ask(&one, "a2");
    assert_eq!(old.next().unwrap().data["checkpoint_id"], "a2");
    let listed = one.get("/v1/events").expect(200).json();
    let of: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|item| item["checkpoint_id"].clone()).collect();
    assert_eq!(of, ["a1", "a2"]);
}

#[test]
fn a_token_that_is_revoked_hears_no_more() {
    let making =
        || Place::making().limits(|limits| limits.sign_of_life = std::time::Duration::from_millis(50));
    let place = making().start();
    let viewer = place.as_role(Role::Viewer);
    let mut events = viewer.listen("/v1/events");
    let admin = place.as_role(Role::Admin);
    ask(&admin, "c1");
    assert_eq!(events.next().unwrap().data["checkpoint_id"], "c1");
    let tokens = admin.get("/v1/tokens").json();
    let token = tokens["items"].as_array().unwrap().iter().find(|token| token["name"] == "viewer").unwrap();
    admin.delete(&format!("/v1/tokens/{}", token["id"].as_str().unwrap())).expect(200);
    assert!(events.next().is_none());
}

#[test]
fn a_server_that_ends_ends_its_streams() {
    let mut place = Place::new();
    let reviewer = place.as_role(Role::Reviewer);
    let mut events = reviewer.listen("/v1/events");
    ask(&reviewer, "c1");
    events.next().unwrap();
    place.stop();
    assert!(events.next().is_none());
}
