//! Marks of commits: whoever looks after taking them misses nothing.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::{Open, creation, pending};

/// Generous, because machines are busy; what is lost would never come.
const SOON: Duration = Duration::from_secs(5);

pub async fn a_commit_of_this_handle_is_marked(open: Open<'_>) {
    let store = open();
    let mut changes = store.changes().unwrap();
    for n in 0..3 {
        changes.borrow_and_update();
        store.commit(creation(pending(&format!("c{n}")))).await.unwrap();
        timeout(SOON, changes.changed()).await.unwrap().unwrap();
    }
}

pub async fn a_commit_of_another_handle_is_marked(open: Open<'_>) {
    let (store, other) = (open(), open());
    let mut changes = store.changes().unwrap();
    let mut took = Vec::new();
    for n in 0..20 {
        changes.borrow_and_update();
        other.commit(creation(pending(&format!("c{n}")))).await.unwrap();
        let began = Instant::now();
        timeout(SOON, changes.changed()).await.expect("a commit went unmarked").unwrap();
        took.push(began.elapsed());
        // So that a mark of this commit cannot stand for the next one.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    took.sort();
    println!("seen after {:?} (median), {:?} (worst)", took[10], took[19]);
    // Far below any period of looking without a reason.
    assert!(took[10] < Duration::from_millis(100), "{took:?}");
}

/// The commit comes as soon as the marks are taken, again and again on fresh handles.
pub async fn no_commit_after_the_first_look_goes_unmarked(open: Open<'_>) {
    let other = open();
    for n in 0..50 {
        let store = open();
        let mut changes = store.changes().unwrap();
        changes.borrow_and_update();
        other.commit(creation(pending(&format!("c{n}")))).await.unwrap();
        timeout(SOON, changes.changed()).await.expect("a commit went unmarked").unwrap();
    }
}

pub async fn nothing_is_marked_when_nothing_happens(open: Open<'_>) {
    let (store, other) = (open(), open());
    other.commit(creation(pending("a"))).await.unwrap();
    let mut changes = store.changes().unwrap();
    changes.borrow_and_update();
    assert!(timeout(Duration::from_millis(700), changes.changed()).await.is_err());
}
