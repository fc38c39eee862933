//! Random histories: what the events tell is what the rows say.

use checkrein_core::checkpoint::{Checkpoint, CheckpointId, CheckpointStatus, Verdict};
use checkrein_core::event::fold_checkpoint;
use checkrein_store::{CheckpointFilter, CommitError, Position, Store, Version};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::{Open, creation, id, pending, resolution, text, time};

#[derive(Clone, Debug)]
enum Step {
    Create {
        stream: u8,
        worker: String,
        status: CheckpointStatus,
    },
    Decide {
        stream: u8,
        verdict: Verdict,
    },
    /// Decided on a version that is gone or never was.
    Stale {
        stream: u8,
        expected: u64,
    },
    Withdraw {
        stream: u8,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let stream = 0..6_u8;
    let verdict = prop_oneof![Just(Verdict::Approve), Just(Verdict::Reject), Just(Verdict::RequestChanges)];
    let status = prop_oneof![3 => Just(CheckpointStatus::Pending), 1 => Just(CheckpointStatus::NotRequired)];
    prop_oneof![
        3 => (stream.clone(), "[a-zü' ]{1,5}", status)
            .prop_map(|(stream, worker, status)| Step::Create { stream, worker, status }),
        3 => (stream.clone(), verdict).prop_map(|(stream, verdict)| Step::Decide { stream, verdict }),
        1 => (stream.clone(), 0..4_u64).prop_map(|(stream, expected)| Step::Stale { stream, expected }),
        1 => stream.prop_map(|stream| Step::Withdraw { stream }),
    ]
}

pub async fn the_fold_of_events_is_the_row(open: Open<'_>) {
    let store = open();
    let mut runner = TestRunner::deterministic();
    let histories = prop::collection::vec(step(), 1..40);
    for round in 0..40 {
        let steps = histories.new_tree(&mut runner).unwrap().current();
        for (n, step) in (0..).zip(&steps) {
            take(&store, round, step, 1_000 + n).await;
        }
        for stream in 0..6 {
            check(&store, &name(round, stream)).await.unwrap_or_else(|why| panic!("{why}\n{steps:#?}"));
        }
    }
    let all = store.checkpoints(&CheckpointFilter::default(), 0, usize::MAX).await.unwrap();
    assert!(all.items.len() > 100, "the histories hardly did anything: {}", all.items.len());
}

fn name(round: u32, stream: u8) -> CheckpointId {
    id(&format!("{round}/{stream}"))
}

async fn take(store: &Store, round: u32, step: &Step, at_ms: i64) {
    match step {
        Step::Create { stream, worker, status } => {
            let id = name(round, *stream);
            let there = store.checkpoint(&id).await.unwrap().is_some();
            let row = Checkpoint {
                worker: worker.clone(),
                status: *status,
                created_at: time(at_ms),
                resolved_at: (*status == CheckpointStatus::NotRequired).then(|| time(at_ms)),
                digest: text(worker).digest,
                ..pending(id.as_str())
            };
            let result = store.commit(creation(row)).await;
            assert_eq!(matches!(result, Err(CommitError::Conflict)), there, "{result:?}");
        }
        Step::Decide { stream, verdict } => {
            let Some(stored) = store.checkpoint(&name(round, *stream)).await.unwrap() else { return };
            if stored.checkpoint.status == CheckpointStatus::Pending {
                let commit = resolution(&stored.checkpoint, stored.version, *verdict, at_ms);
                store.commit(commit).await.unwrap();
            }
        }
        Step::Withdraw { stream } => {
            let Some(stored) = store.checkpoint(&name(round, *stream)).await.unwrap() else { return };
            if stored.checkpoint.status == CheckpointStatus::Pending {
                let mut commit = resolution(&stored.checkpoint, stored.version, Verdict::Reject, at_ms);
                commit.checkpoint.status = CheckpointStatus::Withdrawn;
                commit.checkpoint.reason = None;
                commit.events = vec![checkrein_core::event::Event::resolved(&commit.checkpoint)];
                store.commit(commit).await.unwrap();
            }
        }
        Step::Stale { stream, expected } => {
            let id = name(round, *stream);
            let stored = store.checkpoint(&id).await.unwrap();
            let version = stored.as_ref().map_or(0, |stored| stored.version.0);
            if *expected != 0 && *expected != version {
                let commit = resolution(&pending(id.as_str()), Version(*expected), Verdict::Reject, at_ms);
                assert!(matches!(store.commit(commit).await, Err(CommitError::Conflict)));
                assert_eq!(store.checkpoint(&id).await.unwrap(), stored);
            }
        }
    }
}

async fn check(store: &Store, id: &CheckpointId) -> Result<(), String> {
    let events = store.events(Position(0), Some(id.as_str()), usize::MAX).await.unwrap();
    let told = events.iter().fold(None, |so_far, event| fold_checkpoint(so_far, id, event.at, &event.event));
    let stored = store.checkpoint(id).await.unwrap();
    let version = stored.as_ref().map_or(0, |stored| stored.version.0);
    let row = stored.map(|stored| stored.checkpoint);
    if told != row || version != events.len() as u64 {
        return Err(format!("the events tell {told:#?}, the row says {row:#?}"));
    }
    Ok(())
}
