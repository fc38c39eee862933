//! Waiting: woken by another process, without looking over and over, leaving nothing behind.

use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkrein_core::checkpoint::{CheckpointStatus, Verdict};
use jiff::Timestamp;

use crate::{Spot, ann, engine, process, question, say, verdict};

const ROUNDS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verdict_of_another_process_wakes_a_waiter() {
    wake(&Spot::in_a_file()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verdict_of_another_process_wakes_a_waiter_on_postgres() {
    wake(&Spot::on_postgres()).await;
}

async fn wake(spot: &Spot) {
    let place = &spot.address;
    let engine = engine(place);
    let mut child = process("answer", place).spawn().unwrap();
    let mut questions = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(answers.any(|line| line.unwrap() == "ready"));
    let mut took_ms = Vec::new();
    for n in 0..ROUNDS {
        let id = n.to_string();
        engine.create_checkpoint(&ann(), question(&id)).await.unwrap();
        let waiting = {
            let (engine, id) = (Arc::clone(&engine), id.clone());
            tokio::spawn(async move {
                let at_most = Some(Duration::from_secs(30));
                let view = engine.wait_for_checkpoint(&ann(), &id, at_most).await.unwrap();
                (view.checkpoint, Timestamp::now())
            })
        };
        // Some questions lie long enough that nobody is looking any more.
        tokio::time::sleep(Duration::from_millis(if n % 10 == 9 { 1_600 } else { 60 })).await;
        writeln!(questions, "{id}").unwrap();
        let answered = answers.find_map(|line| line.unwrap().strip_prefix("at ")?.parse::<Timestamp>().ok());
        let (released, at) = waiting.await.unwrap();
        assert_eq!(released.status, CheckpointStatus::Approved);
        took_ms.push((at.as_microsecond() - answered.unwrap().as_microsecond()).max(0) as f64 / 1_000.0);
    }
    drop(questions);
    assert!(child.wait().unwrap().success());
    took_ms.sort_by(f64::total_cmp);
    let (median, worst) = (took_ms[ROUNDS / 2], took_ms[ROUNDS - 1]);
    println!("woken {median:.1} ms after the verdict (median), {worst:.1} ms (worst)");
    assert!(median < 100.0 && worst < 1_000.0, "{took_ms:?}");
}

/// The one who answers.
pub async fn answer(place: &str) {
    let engine = engine(place);
    say("ready");
    for id in std::io::stdin().lines() {
        engine.give_verdict(&ann(), &id.unwrap(), &verdict(Verdict::Approve)).await.unwrap();
        say(&format!("at {}", Timestamp::now()));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_waiter_does_not_burn_the_processor() {
    for spot in [Spot::in_a_file(), Spot::on_postgres()] {
        let output = process("idle", &spot.address).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        let burnt_ms = told.lines().find_map(|line| line.strip_prefix("burnt ")?.parse::<u64>().ok());
        println!("two seconds of waiting took {burnt_ms:?} ms of the processor");
        assert!(burnt_ms.is_some_and(|ms| ms < 100), "{told}");
    }
}

/// Waits in vain for two seconds, sixteen times at once.
pub async fn idle(place: &str) {
    let engine = engine(place);
    engine.create_checkpoint(&ann(), question("open")).await.unwrap();
    let before = processor_ms();
    let began = Instant::now();
    let waiting: Vec<_> = (0..16)
        .map(|_| {
            let engine = Arc::clone(&engine);
            tokio::spawn(async move {
                let at_most = Some(Duration::from_secs(2));
                engine.wait_for_checkpoint(&ann(), "open", at_most).await.unwrap().checkpoint.status
            })
        })
        .collect();
    for waiter in waiting {
        assert_eq!(waiter.await.unwrap(), CheckpointStatus::Pending);
    }
    assert!(began.elapsed() >= Duration::from_secs(2));
    say(&format!("burnt {}", processor_ms() - before));
}

#[test]
#[cfg(target_os = "linux")]
fn waiters_that_leave_leave_nothing_behind() {
    let spot = Spot::in_a_file();
    let status = process("leave", &spot.address).status().unwrap();
    assert!(status.success());
}

/// A thousand waiters that are dropped, then the engine itself.
pub async fn leave(place: &str) {
    let counts = || (entries("/proc/self/task"), entries("/proc/self/fd"));
    let before = counts();
    let engine = engine(place);
    engine.create_checkpoint(&ann(), question("open")).await.unwrap();
    let leave = |engine: &Arc<checkrein_engine::Engine>| {
        let engine = Arc::clone(engine);
        async move {
            let waiting: Vec<_> = (0..100)
                .map(|_| {
                    let engine = Arc::clone(&engine);
                    tokio::spawn(async move { engine.wait_for_checkpoint(&ann(), "open", None).await })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(20)).await;
            for waiter in waiting {
                waiter.abort();
                assert!(waiter.await.unwrap_err().is_cancelled());
            }
        }
    };
    leave(&engine).await;
    let once = counts();
    for _ in 0..10 {
        leave(&engine).await;
    }
    let often = counts();
    say(&format!("threads and files: {before:?}, with waiters gone {once:?}, again {often:?}"));
    assert_eq!(once.0, often.0, "threads");
    assert!(often.1 <= once.1 + 24, "no more files than readers that are kept");
    drop(engine);
    let until = Instant::now() + Duration::from_secs(10);
    while counts() != before {
        assert!(Instant::now() < until, "left behind: {:?} instead of {before:?}", counts());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn entries(directory: &str) -> usize {
    std::fs::read_dir(directory).map_or(0, Iterator::count)
}

/// Of all threads, also those that are gone.
fn processor_ms() -> u64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return 0 };
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    // Hundredths of a second in user and in kernel mode.
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>()
        * 10
}
