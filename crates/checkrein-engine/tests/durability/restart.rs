//! A server that stops and starts again under load: nothing that was acknowledged is lost, nothing is
//! done twice, and nobody has to be told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use checkrein_core::checkpoint::{CheckpointStatus, Verdict};
use checkrein_core::event::Event;
use checkrein_store::{CheckpointFilter, Position};
use tokio::task::JoinSet;

use crate::server::PostgresServer;
use crate::{Spot, ann, engine, question, store, verdict};

/// Unless `CHECKREIN_RESTARTS` says otherwise.
const RESTARTS: usize = 20;
const TASKS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_comes_and_goes_loses_and_doubles_nothing() {
    // With its syncs: half of the stops are like a crash.
    let server = Arc::new(PostgresServer::start(&[]));
    let spot = Spot::on(Arc::clone(&server));
    let engines = [engine(&spot.address), engine(&spot.address)];
    let (over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut working = JoinSet::new();
    for task in 0..TASKS {
        let (asking, answering) = (Arc::clone(&engines[task % 2]), Arc::clone(&engines[(task + 1) % 2]));
        let (over, done) = (Arc::clone(&over), Arc::clone(&done));
        working.spawn(async move {
            let mut acknowledged = Vec::new();
            for n in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let id = format!("{task}-{n}");
                asking.create_checkpoint(&ann(), question(&id)).await.unwrap();
                let waiting = {
                    let (asking, id) = (Arc::clone(&asking), id.clone());
                    tokio::spawn(async move { asking.wait_for_checkpoint(&ann(), &id, None).await })
                };
                answering.give_verdict(&ann(), &id, &verdict(Verdict::Approve)).await.unwrap();
                let released = waiting.await.unwrap().unwrap().checkpoint;
                assert_eq!(released.status, CheckpointStatus::Approved);
                acknowledged.push(id);
                done.fetch_add(1, Ordering::Relaxed);
            }
            acknowledged
        });
    }
    let restarts = std::env::var("CHECKREIN_RESTARTS").map_or(RESTARTS, |text| text.parse().unwrap());
    for round in 0..restarts {
        // Under load: something was done since the last time.
        let before = done.load(Ordering::Relaxed);
        while done.load(Ordering::Relaxed) < before + TASKS && working.len() == TASKS {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let server = Arc::clone(&server);
        let how = if round % 2 == 0 { "fast" } else { "immediate" };
        tokio::task::spawn_blocking(move || {
            server.stop(how);
            server.go();
        })
        .await
        .unwrap();
    }
    over.store(true, Ordering::Relaxed);
    let mut acknowledged: Vec<String> = Vec::new();
    while let Some(done) = working.join_next().await {
        acknowledged.extend(done.unwrap());
    }
    drop(engines);

    let store = store(&spot.address);
    let all = store.checkpoints(&CheckpointFilter::default(), 0, usize::MAX).await.unwrap().items;
    let mut there: Vec<String> = all.iter().map(|item| item.checkpoint.id.to_string()).collect();
    assert!(all.iter().all(|item| item.checkpoint.status == CheckpointStatus::Approved));
    there.sort();
    acknowledged.sort();
    println!("{restarts} restarts, {} cycles", acknowledged.len());
    assert_eq!(there, acknowledged);
    let events = store.events(Position(0), None, usize::MAX).await.unwrap();
    let created = events.iter().filter(|event| matches!(event.event, Event::CheckpointCreated { .. }));
    assert_eq!(created.count(), there.len());
    assert_eq!(events.len(), 2 * there.len(), "each is asked once and answered once");
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
}
