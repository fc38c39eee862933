//! Rows: written whole, against a version, listed in the order they came.

use checkrein_core::checkpoint::{Checkpoint, CheckpointStatus, Verdict};
use checkrein_store::{CheckpointFilter, CommitError, StoredCheckpoint, Version};

use crate::{Open, creation, id, pending, resolution, time};

pub async fn what_is_created_is_read_again(open: Open<'_>) {
    let store = open();
    let rows = [
        pending("plain"),
        Checkpoint { worker: "W ü 😀".to_owned(), phase: String::new(), ..pending("build/3: draft ü") },
        Checkpoint {
            status: CheckpointStatus::NotRequired,
            resolved_at: Some(time(1_000)),
            ..pending("not required")
        },
        Checkpoint {
            round: u32::MAX,
            reason: Some("line\nbreak and 'quotes' \"\u{0}\"".to_owned()),
            resolved_by: Some("x'); DROP TABLE checkpoints;--".to_owned()),
            ..pending(&"x".repeat(200))
        },
        Checkpoint { created_at: time(-1), ..pending("before 1970") },
        Checkpoint {
            created_by: Some("ann".to_owned()),
            expires_at: Some(time(1_001)),
            ..pending("of somebody, for a time")
        },
    ];
    for row in &rows {
        store.commit(creation(row.clone())).await.unwrap();
    }
    for (number, row) in (1..).zip(&rows) {
        let stored = store.checkpoint(&row.id).await.unwrap().unwrap();
        assert_eq!(stored, StoredCheckpoint { checkpoint: row.clone(), version: Version(1), number });
    }
}

pub async fn what_is_not_there_is_none(open: Open<'_>) {
    let store = open();
    store.commit(creation(pending("a"))).await.unwrap();
    for absent in ["b", "A", "a%", "'a'"] {
        assert_eq!(store.checkpoint(&id(absent)).await.unwrap(), None, "{absent}");
    }
    // A change of what is not there is a conflict, not a creation.
    let change = resolution(&pending("b"), Version(1), Verdict::Approve, 2_000);
    assert!(matches!(store.commit(change).await, Err(CommitError::Conflict)));
    assert_eq!(store.checkpoint(&id("b")).await.unwrap(), None);
}

pub async fn an_id_is_taken_once(open: Open<'_>) {
    let store = open();
    store.commit(creation(pending("a"))).await.unwrap();
    let other = Checkpoint { worker: "other".to_owned(), ..pending("a") };
    assert!(matches!(store.commit(creation(other)).await, Err(CommitError::Conflict)));
    assert_eq!(store.checkpoint(&id("a")).await.unwrap().unwrap().checkpoint, pending("a"));
}

pub async fn an_older_version_is_a_conflict(open: Open<'_>) {
    let store = open();
    store.commit(creation(pending("a"))).await.unwrap();
    let approve = resolution(&pending("a"), Version(1), Verdict::Approve, 2_000);
    store.commit(approve.clone()).await.unwrap();
    for late in [resolution(&pending("a"), Version(1), Verdict::Reject, 3_000), approve.clone()] {
        assert!(matches!(store.commit(late).await, Err(CommitError::Conflict)));
    }
    let stored = store.checkpoint(&id("a")).await.unwrap().unwrap();
    assert_eq!((stored.checkpoint, stored.version), (approve.checkpoint, Version(2)));
}

pub async fn a_newer_version_is_a_conflict(open: Open<'_>) {
    let store = open();
    store.commit(creation(pending("a"))).await.unwrap();
    let early = resolution(&pending("a"), Version(2), Verdict::Reject, 3_000);
    assert!(matches!(store.commit(early).await, Err(CommitError::Conflict)));
    assert_eq!(store.checkpoint(&id("a")).await.unwrap().unwrap().checkpoint, pending("a"));
}

pub async fn one_of_many_racing_verdicts_wins(open: Open<'_>) {
    let handles = [open(), open()];
    for round in 0..20 {
        let asked = pending(&format!("round {round}"));
        handles[0].commit(creation(asked.clone())).await.unwrap();
        let racing: Vec<_> = (0..16_i64)
            .map(|n| {
                let store = handles[usize::try_from(n % 2).unwrap()].clone();
                let verdict = [Verdict::Approve, Verdict::Reject, Verdict::RequestChanges][n as usize % 3];
                let commit = resolution(&asked, Version(1), verdict, 2_000 + n);
                tokio::spawn(async move { (commit.checkpoint.clone(), store.commit(commit).await) })
            })
            .collect();
        let mut won = Vec::new();
        for task in racing {
            match task.await.unwrap() {
                (after, Ok(())) => won.push(after),
                (_, Err(CommitError::Conflict)) => {}
                (_, Err(error)) => panic!("{error}"),
            }
        }
        assert_eq!(won.len(), 1);
        for store in &handles {
            let stored = store.checkpoint(&asked.id).await.unwrap().unwrap();
            assert_eq!((stored.checkpoint, stored.version), (won[0].clone(), Version(2)));
        }
    }
}

pub async fn a_list_is_in_creation_order_and_filtered(open: Open<'_>) {
    let store = open();
    // Ids and times run against creation order, which alone counts (C7).
    for (name, worker, phase, kind, created_ms) in [
        ("z", "w1", "p1", "deliverable", 9),
        ("y", "w2", "p1", "deliverable", 8),
        ("x", "w1", "p2", "plan", 7),
        ("w", "w2", "p2", "plan", 6),
        ("v", "w1", "p1", "plan", 5),
    ] {
        let row = Checkpoint {
            worker: worker.to_owned(),
            phase: phase.to_owned(),
            kind: kind.to_owned(),
            created_at: time(created_ms),
            ..pending(name)
        };
        store.commit(creation(row)).await.unwrap();
    }
    for (name, verdict) in [("x", Verdict::Reject), ("z", Verdict::Approve)] {
        let stored = store.checkpoint(&id(name)).await.unwrap().unwrap();
        store.commit(resolution(&stored.checkpoint, stored.version, verdict, 10)).await.unwrap();
    }
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    for (status, worker, phase, kind, expected) in [
        (None, "", "", "", "z y x w v"),
        (Some(CheckpointStatus::Pending), "", "", "", "y w v"),
        (Some(CheckpointStatus::Approved), "", "", "", "z"),
        (Some(CheckpointStatus::Rejected), "", "", "", "x"),
        (Some(CheckpointStatus::Withdrawn), "", "", "", ""),
        (None, "w1", "", "", "z x v"),
        (None, "", "p2", "", "x w"),
        (None, "", "", "plan", "x w v"),
        (None, "w1", "p1", "plan", "v"),
        (Some(CheckpointStatus::Pending), "w2", "", "", "y w"),
        (None, "nobody", "", "", ""),
        (None, "' OR 1=1 --", "", "", ""),
    ] {
        let filter = CheckpointFilter {
            status,
            worker: some(worker),
            phase: some(phase),
            kind: some(kind),
            ..CheckpointFilter::default()
        };
        let page = store.checkpoints(&filter, 0, 100).await.unwrap();
        let names: Vec<&str> = page.items.iter().map(|item| item.checkpoint.id.as_str()).collect();
        assert_eq!((names.join(" ").as_str(), page.next), (expected, None), "{filter:?}");
    }
}

/// Recorded or not: a list asks at a moment.
pub async fn what_timed_out_counts_as_rejected(open: Open<'_>) {
    let store = open();
    let expiring = |name: &str, ms| Checkpoint { expires_at: Some(time(ms)), ..pending(name) };
    for row in [pending("open"), expiring("soon", 2_000), expiring("late", 9_000), expiring("said", 2_000)] {
        store.commit(creation(row)).await.unwrap();
    }
    store.commit(resolution(&expiring("said", 2_000), Version(1), Verdict::Approve, 1_500)).await.unwrap();
    for (now_ms, waiting, rejected) in [
        (None, "open soon late", ""),
        (Some(1_999), "open soon late", ""),
        (Some(2_000), "open late", "soon"),
        (Some(9_001), "open", "soon late"),
    ] {
        for (status, expected) in [
            (Some(CheckpointStatus::Pending), waiting),
            (Some(CheckpointStatus::Rejected), rejected),
            (Some(CheckpointStatus::Approved), "said"),
            (None, "open soon late said"),
        ] {
            let filter = CheckpointFilter { status, now: now_ms.map(time), ..CheckpointFilter::default() };
            let page = store.checkpoints(&filter, 0, 100).await.unwrap();
            let names: Vec<&str> = page.items.iter().map(|item| item.checkpoint.id.as_str()).collect();
            assert_eq!(names.join(" "), expected, "{filter:?}");
        }
        let Some(now) = now_ms.map(time) else { continue };
        let overdue = store.overdue_checkpoints(now, 100).await.unwrap();
        let names: Vec<&str> = overdue.iter().map(|item| item.checkpoint.id.as_str()).collect();
        assert_eq!(names.join(" "), rejected, "{now}");
        let waiting = waiting.split(' ').count() as u64;
        assert_eq!(store.count_pending(now).await.unwrap(), waiting, "{now}");
    }
    assert_eq!(store.overdue_checkpoints(time(9_001), 1).await.unwrap().len(), 1);
}

pub async fn pages_hold_everything_once(open: Open<'_>) {
    let store = open();
    for n in 0..23 {
        store.commit(creation(pending(&format!("c{n}")))).await.unwrap();
    }
    for n in (0..23).step_by(3) {
        let asked = pending(&format!("c{n}"));
        store.commit(resolution(&asked, Version(1), Verdict::Approve, 2_000)).await.unwrap();
    }
    for status in [None, Some(CheckpointStatus::Pending), Some(CheckpointStatus::Approved)] {
        let filter = CheckpointFilter { status, ..CheckpointFilter::default() };
        let whole = store.checkpoints(&filter, 0, usize::MAX).await.unwrap();
        assert_eq!(whole.next, None);
        for size in 1..=24 {
            let (mut items, mut after) = (Vec::new(), Some(0));
            while let Some(from) = after {
                let page = store.checkpoints(&filter, from, size).await.unwrap();
                assert!(page.items.len() == size || page.next.is_none(), "a page in between is full");
                after = page.next;
                items.extend(page.items);
            }
            assert_eq!(items, whole.items, "{status:?} {size}");
        }
    }
    let beyond = store.checkpoints(&CheckpointFilter::default(), i64::MAX, 10).await.unwrap();
    assert_eq!((beyond.items.len(), beyond.next), (0, None));
}

pub async fn another_handle_reads_what_was_acknowledged(open: Open<'_>) {
    let (one, other) = (open(), open());
    for n in 0..20 {
        let (writer, reader) = if n % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let asked = pending(&format!("c{n}"));
        writer.commit(creation(asked.clone())).await.unwrap();
        assert_eq!(reader.checkpoint(&asked.id).await.unwrap().unwrap().checkpoint, asked);
    }
    drop((one, other));
    let page = open().checkpoints(&CheckpointFilter::default(), 0, 100).await.unwrap();
    assert_eq!(page.items.len(), 20);
}
