//! A hold whose time runs out is a no, whoever is alive to say so. It never is a yes.

use std::sync::Arc;
use std::time::Duration;

use checkrein_core::checkpoint::{CheckpointStatus, Verdict};
use checkrein_core::config::{CheckreinFile, Owner, Settings};
use checkrein_core::document::{Document, Format};
use checkrein_core::policy::Reading;
use checkrein_engine::Engine;
use checkrein_store::{CheckpointFilter, Position};

use crate::{Spot, ann, question, store, verdict};

/// An engine whose workers have as long for an answer as `timeout` says.
fn engine(spot: &Spot, timeout: &str) -> Arc<Engine> {
    let text = format!("autonomy: {{worker: {{level: manual, {timeout}}}}}");
    let document = Document::parse("checkrein.yaml", &text, Format::Yaml).unwrap();
    let (file, _) = CheckreinFile::read(&Arc::new(document), Owner::Project, Reading::Strict).unwrap();
    Arc::new(Engine::new(store(&spot.address), Settings::new(None, Some(file), None, Vec::new()).unwrap()))
}

fn spots() -> [Spot; 2] {
    [Spot::in_a_file(), Spot::on_postgres()]
}

async fn events_of(engine: &Engine, id: &str) -> usize {
    engine.store().events(Position(0), Some(id), 100).await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_looks_is_shown_a_timeout_that_nobody_recorded() {
    for spot in spots() {
        let engine = engine(&spot, "timeout: 1ms, on_timeout: reject");
        let asked = engine.create_checkpoint(&ann(), question("a")).await.unwrap();
        let expires_at = asked.expires_at.unwrap();
        while engine.now() < expires_at {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let seen = engine.checkpoint(&ann(), "a").await.unwrap().checkpoint;
        assert_eq!((seen.status, seen.resolved_by.as_deref()), (CheckpointStatus::Rejected, Some("timeout")));
        let again = engine.create_checkpoint(&ann(), question("a")).await.unwrap();
        let waited = engine.wait_for_checkpoint(&ann(), "a", None).await.unwrap().checkpoint;
        assert_eq!((&again, &waited), (&seen, &seen));
        assert!(engine.inbox(&ann(), &CheckpointFilter::default(), 0, 10).await.unwrap().items.is_empty());
        assert_eq!(engine.count_pending(&ann()).await.unwrap(), 0);
        let rejected =
            CheckpointFilter { status: Some(CheckpointStatus::Rejected), ..CheckpointFilter::default() };
        let listed = engine.checkpoints(&ann(), &rejected, 0, 10).await.unwrap().items;
        let listed: Vec<_> = listed.into_iter().map(|stored| stored.checkpoint).collect();
        assert_eq!(listed, std::slice::from_ref(&seen));
        assert_eq!(events_of(&engine, "a").await, 1, "looking records nothing");

        // Whoever may write records it; what is read stays the same.
        engine.record_timeouts().await.unwrap();
        engine.record_timeouts().await.unwrap();
        assert_eq!(events_of(&engine, "a").await, 2);
        assert_eq!(engine.checkpoint(&ann(), "a").await.unwrap().checkpoint, seen);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verdict_that_comes_too_late_is_refused_and_the_timeout_recorded() {
    for spot in spots() {
        let engine = engine(&spot, "timeout: 1ms, on_timeout: reject");
        for (id, given) in [("a", Verdict::Approve), ("b", Verdict::RequestChanges), ("c", Verdict::Reject)] {
            let expires_at =
                engine.create_checkpoint(&ann(), question(id)).await.unwrap().expires_at.unwrap();
            while engine.now() < expires_at {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let judged = engine.give_verdict(&ann(), id, &verdict(given)).await;
            match given {
                Verdict::Reject => assert_eq!(judged.unwrap().resolved_by.as_deref(), Some("timeout")),
                _ => {
                    let refused = judged.unwrap_err().to_string();
                    assert_eq!(refused, format!("checkpoint `{id}` is already rejected by timeout"));
                }
            }
            assert_eq!(events_of(&engine, id).await, 2, "{given:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_is_told_when_the_time_is_over() {
    for spot in spots() {
        let engine = engine(&spot, "timeout: 300ms, on_timeout: reject");
        engine.create_checkpoint(&ann(), question("a")).await.unwrap();
        let waited = engine.wait_for_checkpoint(&ann(), "a", None).await.unwrap().checkpoint;
        assert_eq!(waited.reason.as_deref(), Some("nobody answered in time"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_that_is_to_stay_held_stays_held() {
    for (spot, timeout) in spots().iter().zip(["timeout: 1ms, on_timeout: hold", "timeout: 1ms"]) {
        let engine = engine(spot, timeout);
        assert_eq!(engine.create_checkpoint(&ann(), question("a")).await.unwrap().expires_at, None);
        tokio::time::sleep(Duration::from_millis(5)).await;
        engine.record_timeouts().await.unwrap();
        let given = engine.give_verdict(&ann(), "a", &verdict(Verdict::Approve)).await.unwrap();
        assert_eq!(given.status, CheckpointStatus::Approved);
    }
}
