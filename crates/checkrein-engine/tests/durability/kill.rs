//! A worker that is killed at any moment, again and again, and goes on where it was.
//!
//! `CHECKREIN_KILLS` says how often (500 times if it is not set), `CHECKREIN_DICE` repeats the moments of
//! an earlier run.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use checkrein_core::checkpoint::{CheckpointId, CheckpointStatus, Verdict};
use checkrein_core::event::{Event, fold_checkpoint};
use checkrein_store::{CheckpointFilter, Position, Store};

use tokio::task::JoinSet;

use crate::{Spot, ann, engine, process, question, say, store, verdict};

/// So many live at the same time; when all of them are dead, nobody has the store open.
const SLOTS: usize = 4;
const TASKS: usize = 4;
const LIFE_MAX_MS: u64 = 200;
/// A connection to a server takes its time.
const LIFE_MAX_MS_ON_SERVER: u64 = 600;

/// The most that was acknowledged about a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Acknowledged {
    Created,
    Decided,
    Waited,
}

#[tokio::test]
async fn a_killed_worker_loses_and_doubles_nothing() {
    let spot = Spot::in_a_file();
    kill(&spot, 500).await;
    let sqlite = rusqlite::Connection::open(&spot.address).unwrap();
    let found: String = sqlite.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}

#[tokio::test]
async fn a_killed_worker_loses_and_doubles_nothing_on_postgres() {
    kill(&Spot::on_postgres(), 60).await;
}

async fn kill(spot: &Spot, kills: u64) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let kills = usize::try_from(number("CHECKREIN_KILLS").unwrap_or(kills)).unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let mut dice = Dice(number("CHECKREIN_DICE").unwrap_or(now as u64));
    println!("CHECKREIN_DICE={}", dice.0);

    let place = &spot.address;
    let mut all: BTreeMap<(usize, usize), Acknowledged> = BTreeMap::new();
    let on_server = place.starts_with("postgres:");
    let life_max_ms = if on_server { LIFE_MAX_MS_ON_SERVER } else { LIFE_MAX_MS };
    let mut from = [0; SLOTS];
    let (mut killed, mut silent) = (0, 0);
    let began = Instant::now();
    while killed < kills {
        let mut lives = Vec::new();
        for (slot, from) in from.iter().enumerate() {
            let child = process(&format!("kill {slot} {from}"), place).spawn().unwrap();
            let life = Duration::from_micros(dice.below(life_max_ms * 1_000));
            lives.push(std::thread::spawn(move || end(child, life)));
        }
        let mut fresh = BTreeMap::new();
        for (slot, life) in lives.into_iter().enumerate() {
            let told = life.join().unwrap();
            silent += usize::from(told.is_empty());
            for (n, acknowledged) in told {
                let most = fresh.entry((slot, n)).or_insert(acknowledged);
                *most = acknowledged.max(*most);
            }
        }
        killed += SLOTS;
        // Nobody has it open now: this is the first one after the death.
        let store = store(place);
        for (key, acknowledged) in fresh {
            check(&store, key, acknowledged).await;
            let most = all.entry(key).or_insert(acknowledged);
            *most = acknowledged.max(*most);
        }
        // The next life begins with the first one that is not done, and repeats what was done after it.
        for (slot, from) in from.iter_mut().enumerate() {
            while all.get(&(slot, *from)) == Some(&Acknowledged::Waited) {
                *from += 1;
            }
        }
    }
    let cycles = all.values().filter(|most| **most == Acknowledged::Waited).count();
    println!(
        "{killed} kills in {:?}: {} checkpoints acknowledged, {cycles} cycles done, {silent} died before a word",
        began.elapsed(),
        all.len()
    );
    assert!(cycles > kills, "they hardly lived");

    let store = store(place);
    for (key, acknowledged) in &all {
        check(&store, *key, *acknowledged).await;
    }
    nothing_is_doubled(&store).await;
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
}

/// Kills it after its time; what it was told is done until then.
fn end(mut child: std::process::Child, life: Duration) -> Vec<(usize, Acknowledged)> {
    std::thread::sleep(life);
    child.kill().unwrap();
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), None, "it died on its own, {status}:\n{told}");
    told.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
        .filter_map(|line| {
            let (word, n) = line.split_once(' ')?;
            let acknowledged = match word {
                "created" => Acknowledged::Created,
                "decided" => Acknowledged::Decided,
                "waited" => Acknowledged::Waited,
                _ => return None,
            };
            Some((n.parse().ok()?, acknowledged))
        })
        .collect()
}

async fn check(store: &Store, (slot, n): (usize, usize), acknowledged: Acknowledged) {
    let id = CheckpointId::new(name(&slot.to_string(), n)).unwrap();
    let there = store.checkpoint(&id).await.unwrap();
    let there = there.unwrap_or_else(|| panic!("{id} was {acknowledged:?} and is gone")).checkpoint;
    let content = store.content(&there.digest).await.unwrap();
    assert!(content.is_some(), "{id} lost its content");
    if acknowledged == Acknowledged::Created && there.status == CheckpointStatus::Pending {
        return;
    }
    assert_eq!(there.status, given(n).status(), "{id} was {acknowledged:?}");
    assert_eq!(there.reason.as_deref(), Some("looked at"));
}

/// Every stream begins once, is resolved at most once, and tells what its row says.
async fn nothing_is_doubled(store: &Store) {
    let mut streams: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for event in store.events(Position(0), None, usize::MAX).await.unwrap() {
        streams.entry(event.stream.clone()).or_default().push(event);
    }
    let rows = store.checkpoints(&CheckpointFilter::default(), 0, usize::MAX).await.unwrap().items;
    assert_eq!(rows.len(), streams.len());
    for row in rows {
        let id = &row.checkpoint.id;
        let events = &streams[id.as_str()];
        let created =
            events.iter().filter(|event| matches!(event.event, Event::CheckpointCreated { .. })).count();
        assert_eq!(created, 1, "{id}");
        assert!(events.len() <= 2, "{id}: {events:?}");
        let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, (1..=row.version.0).collect::<Vec<_>>(), "{id}");
        let told =
            events.iter().fold(None, |so_far, event| fold_checkpoint(so_far, id, event.at, &event.event));
        assert_eq!(told.as_ref(), Some(&row.checkpoint));
    }
}

/// A worker that asks, is answered and goes on, and says what it was told.
pub async fn live(place: &str, slot: &str, from: usize) {
    let engine = engine(place);
    let next = Arc::new(AtomicUsize::new(from));
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (engine, next, slot) = (Arc::clone(&engine), Arc::clone(&next), slot.to_owned());
        tasks.spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let id = name(&slot, n);
                engine.create_checkpoint(&ann(), question(&id)).await.unwrap();
                say(&format!("created {n}"));
                let waiting = {
                    let (engine, id) = (Arc::clone(&engine), id.clone());
                    tokio::spawn(async move { engine.wait_for_checkpoint(&ann(), &id, None).await })
                };
                engine.give_verdict(&ann(), &id, &verdict(given(n))).await.unwrap();
                say(&format!("decided {n}"));
                let released = waiting.await.unwrap().unwrap().checkpoint;
                assert_eq!(released.status, given(n).status());
                say(&format!("waited {n}"));
            }
        });
    }
    // None of them ends but by a failure.
    tasks.join_next().await.unwrap().unwrap()
}

fn name(slot: &str, n: usize) -> String {
    format!("{slot}/{n}")
}

const fn given(n: usize) -> Verdict {
    if n.is_multiple_of(2) { Verdict::Approve } else { Verdict::Reject }
}

/// Xorshift: the same moments for the same start.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.max(1);
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
