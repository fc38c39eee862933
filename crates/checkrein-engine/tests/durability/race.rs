//! Two processes answer the same questions at the same time, one yes, one no (C5).

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use checkrein_core::checkpoint::{CheckpointStatus, Refusal, Verdict};
use checkrein_core::event::Event;
use checkrein_engine::EngineError;
use checkrein_store::{CheckpointFilter, Position};

use crate::{Spot, ann, engine, process, question, say, verdict};

const PART: usize = 100;
const TASKS: usize = 64;
const WAITERS: usize = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_racing_verdicts_exactly_one_wins() {
    race(&Spot::in_a_file(), 10_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_racing_verdicts_exactly_one_wins_on_postgres() {
    race(&Spot::on_postgres(), 2_000).await;
}

async fn race(spot: &Spot, checkpoints: usize) {
    let place = &spot.address;
    let engine = engine(place);
    let began = Instant::now();
    all_at_once(0..checkpoints, {
        let engine = Arc::clone(&engine);
        move |n| {
            let engine = Arc::clone(&engine);
            async move {
                engine.create_checkpoint(&ann(), question(&n.to_string())).await.unwrap();
            }
        }
    })
    .await;
    println!("{checkpoints} checkpoints created in {:?}", began.elapsed());

    let waiters: Vec<_> = (0..WAITERS)
        .map(|n| {
            let (engine, id) = (Arc::clone(&engine), (n * checkpoints / WAITERS).to_string());
            tokio::spawn(async move {
                let at_most = Some(Duration::from_secs(300));
                engine.wait_for_checkpoint(&ann(), &id, at_most).await.unwrap().checkpoint
            })
        })
        .collect();

    let began = Instant::now();
    let mut children: Vec<_> =
        ["approved", "rejected"].map(|word| process(&format!("race {word}"), place).spawn().unwrap()).into();
    let mut outputs: Vec<_> =
        children.iter_mut().map(|child| BufReader::new(child.stdout.take().unwrap()).lines()).collect();
    for output in &mut outputs {
        assert!(output.any(|line| line.unwrap() == "ready"));
    }
    let mut told: [Vec<String>; 2] = Default::default();
    // In small parts, so that neither gets ahead of the other and they meet on every one.
    for from in (0..checkpoints).step_by(PART) {
        for child in &mut children {
            writeln!(child.stdin.as_mut().unwrap(), "{from}").unwrap();
        }
        for (output, told) in outputs.iter_mut().zip(&mut told) {
            told.extend(output.map(Result::unwrap).take_while(|line| line != "done"));
        }
    }
    for mut child in children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
    let took = began.elapsed();

    let mut winners: HashMap<String, &str> = HashMap::new();
    let mut losers: HashMap<String, String> = HashMap::new();
    let mut wins = [0, 0];
    for (side, word) in ["approved", "rejected"].into_iter().enumerate() {
        for line in &told[side] {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["won", id] => {
                    wins[side] += 1;
                    assert_eq!(winners.insert(id.to_owned(), word), None, "both won {id}");
                }
                ["lost", id, status] => assert_eq!(losers.insert(id.to_owned(), status.to_owned()), None),
                _ => {}
            }
        }
    }
    println!("{} approved, {} rejected in {took:?}", wins[0], wins[1]);
    assert!(wins[0] > 0 && wins[1] > 0, "that was no race");
    assert_eq!((winners.len(), losers.len()), (checkpoints, checkpoints));

    let all = engine.store().checkpoints(&CheckpointFilter::default(), 0, usize::MAX).await.unwrap();
    assert_eq!(all.items.len(), checkpoints);
    for item in all.items {
        let (id, status) = (item.checkpoint.id.as_str(), item.checkpoint.status.name());
        assert_eq!(winners.get(id), Some(&status), "the winner's word counts");
        assert_eq!(losers.get(id).map(String::as_str), Some(status), "the other one is told which");
    }
    let mut events: HashMap<String, Vec<CheckpointStatus>> = HashMap::new();
    for event in engine.store().events(Position(0), None, usize::MAX).await.unwrap() {
        let (Event::CheckpointCreated { status, .. } | Event::CheckpointResolved { status, .. }) =
            event.event
        else {
            panic!("there are no runs here");
        };
        events.entry(event.stream).or_default().push(status);
    }
    for (id, statuses) in events {
        assert_eq!(statuses.len(), 2, "{id}");
        assert_eq!((statuses[0], statuses[1].name()), (CheckpointStatus::Pending, winners[&id]), "{id}");
    }
    for waiter in waiters {
        let released = waiter.await.unwrap();
        assert_eq!(winners[released.id.as_str()], released.status.name());
        assert_eq!(released.reason.as_deref(), Some("looked at"));
    }
}

/// The other process.
pub async fn decide_all(place: &str, word: &str) {
    let given = if word == "approved" { Verdict::Approve } else { Verdict::Reject };
    let engine = engine(place);
    say("ready");
    for from in std::io::stdin().lines() {
        let from = from.unwrap().parse().unwrap();
        all_at_once(from..from + PART, {
            let engine = Arc::clone(&engine);
            move |n| {
                let engine = Arc::clone(&engine);
                async move {
                    match engine.give_verdict(&ann(), &n.to_string(), &verdict(given)).await {
                        Ok(after) => {
                            assert_eq!(after.status, given.status());
                            say(&format!("won {n}"));
                        }
                        Err(EngineError::Refused(Refusal::Decided { status, .. })) => {
                            say(&format!("lost {n} {status}"))
                        }
                        Err(error) => panic!("{n}: {error}"),
                    }
                }
            }
        })
        .await;
        say("done");
    }
}

/// Does something for every one, a few at a time.
async fn all_at_once<F>(range: Range<usize>, work: impl Fn(usize) -> F + Clone + Send + 'static)
where
    F: Future<Output = ()> + Send,
{
    let next = Arc::new(AtomicUsize::new(range.start));
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (next, work) = (Arc::clone(&next), work.clone());
            tokio::spawn(async move {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= range.end {
                        return;
                    }
                    work(n).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}
