//! The log: one order for everybody, no gaps, nothing that was refused.

use std::collections::HashMap;

use checkrein_core::checkpoint::Verdict;
use checkrein_core::event::Event;
use checkrein_store::{CommitError, Position, Store, StoredEvent, Version};

use crate::{Open, creation, pending, resolution};

const TASKS: usize = 64;
const EACH: usize = 8;

/// Every task works on streams of its own, half of them through each handle.
async fn busy(handles: [Store; 2]) {
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = handles[task % 2].clone();
            tokio::spawn(async move {
                for n in 0..EACH {
                    let asked = pending(&format!("{task}-{n}"));
                    store.commit(creation(asked.clone())).await.unwrap();
                    store.commit(resolution(&asked, Version(1), Verdict::Approve, 2_000)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// Positions only grow, and every stream counts 1, 2, 3.
fn check(events: &[StoredEvent]) {
    let mut last = Position(0);
    let mut streams: HashMap<&str, u64> = HashMap::new();
    for event in events {
        assert!(event.position > last, "{:?} after {last:?}", event.position);
        last = event.position;
        let seq = streams.entry(&event.stream).or_default();
        *seq += 1;
        assert_eq!(event.seq, *seq, "{}", event.stream);
    }
}

pub async fn positions_follow_commit_order_without_gaps_in_a_stream(open: Open<'_>) {
    let store = open();
    busy([store.clone(), open()]).await;
    let events = store.events(Position(0), None, usize::MAX).await.unwrap();
    assert_eq!(events.len(), TASKS * EACH * 2);
    check(&events);
    let one = store.events(Position(0), Some("7-3"), 10).await.unwrap();
    assert_eq!(one, events.iter().filter(|event| event.stream == "7-3").cloned().collect::<Vec<_>>());
    assert!(matches!(one[0].event, Event::CheckpointCreated { .. }));
    assert!(matches!(one[1].event, Event::CheckpointResolved { .. }));
    assert_eq!(one.len(), 2);
}

pub async fn a_reader_that_resumes_misses_nothing(open: Open<'_>) {
    let reader = open();
    let writing = tokio::spawn(busy([open(), open()]));
    let mut seen = Vec::new();
    loop {
        let done = writing.is_finished();
        let after = seen.last().map_or(Position(0), |event: &StoredEvent| event.position);
        let more = reader.events(after, None, 10).await.unwrap();
        if done && more.is_empty() {
            break;
        }
        seen.extend(more);
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
    check(&seen);
    assert_eq!(seen, reader.events(Position(0), None, usize::MAX).await.unwrap());
    assert_eq!(seen.len(), TASKS * EACH * 2);
}

pub async fn a_refused_command_takes_no_other_with_it(open: Open<'_>) {
    let store = open();
    store.commit(creation(pending("taken"))).await.unwrap();
    // Sent at once, so that they share commits: every third one is refused.
    let tasks: Vec<_> = (0..300)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let name = if n % 3 == 0 { "taken".to_owned() } else { format!("c{n}") };
                (n, store.commit(creation(pending(&name))).await)
            })
        })
        .collect();
    for task in tasks {
        match task.await.unwrap() {
            (n, Ok(())) => assert_ne!(n % 3, 0),
            (n, Err(CommitError::Conflict)) => assert_eq!(n % 3, 0),
            (n, Err(error)) => panic!("{n}: {error}"),
        }
    }
    let events = store.events(Position(0), None, usize::MAX).await.unwrap();
    check(&events);
    assert_eq!(events.len(), 201);
}

pub async fn a_refused_commit_leaves_no_event(open: Open<'_>) {
    let store = open();
    store.commit(creation(pending("a"))).await.unwrap();
    let before = store.events(Position(0), None, 100).await.unwrap();
    let mut refused = creation(pending("a"));
    refused.content = Some(crate::text("never kept"));
    let digest = crate::text("never kept").digest;
    assert!(store.commit(refused).await.is_err());
    assert!(store.commit(resolution(&pending("a"), Version(7), Verdict::Reject, 5)).await.is_err());
    assert_eq!(store.events(Position(0), None, 100).await.unwrap(), before);
    assert_eq!(store.content(&digest).await.unwrap(), None);
    store.commit(creation(pending("b"))).await.unwrap();
    check(&store.events(Position(0), None, 100).await.unwrap());
}
