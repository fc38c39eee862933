//! Every write that SQLite asks of the disk fails once, one after the other. What was acknowledged is
//! there afterwards: for whoever opens the store again, after a crash, and after a power cut. What was
//! not is there as a whole or not at all.
//!
//! So does every piece of the conversation with a PostgreSQL. There everything is acknowledged all the same, and done
//! once: also where the server had done it, and its answer was what was lost.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod disk;
mod line;
#[path = "../shared/postgres.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod postgres;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use checkrein_core::checkpoint::{
    Checkpoint, CheckpointId, CheckpointStatus, GivenVerdict, Resolved, Verdict,
};
use checkrein_core::deliverable::{Content, Deliverable, Digest};
use checkrein_core::event::{Event, fold_checkpoint};
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_store::{
    CheckpointFilter, Commit, CommitError, Position, Store, StoreAddress, StoreError, TokenRow, Version,
};
use disk::Fault;
use jiff::Timestamp;
use line::{Break, Line};
use postgres::PostgresServer;

/// The layer is one for the whole process, so there is one test of it.
#[test]
fn each_write_fails_in_turn() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (life, fault, step, least) in [
        (Life::Small, Fault::Error, 1, 100),
        (Life::Small, Fault::Full, 1, 100),
        (Life::Small, Fault::Torn, 1, 100),
        (Life::Small, Fault::Gone, 1, 100),
        // Most of its writes are made by a command, not by the commit.
        (Life::Large, Fault::Error, 307, 4),
        (Life::Large, Fault::Full, 307, 4),
        (Life::Large, Fault::Gone, 307, 4),
    ] {
        let began = Instant::now();
        let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
        for at in (1..).step_by(step) {
            let fired = runtime.block_on(once(life, at, fault));
            let Some(call) = fired else { break };
            *calls.entry(call).or_default() += 1;
        }
        println!("{life:?}, {fault:?}: {calls:?} in {:?}", began.elapsed());
        assert!(calls.values().sum::<u64>() > least, "{calls:?}");
    }
}

#[test]
fn each_piece_of_a_conversation_with_a_server_is_lost_in_turn() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = PostgresServer::start(&["fsync=off"]);
    let line = Line::to(server.port);
    for (when, how, step, least) in [
        (When::Opened, Break::Lost, 1, 40),
        (When::Opened, Break::Torn, 4, 10),
        // Most of that is about tables that are made.
        (When::Before, Break::Lost, 7, 5),
    ] {
        let began = Instant::now();
        let mut pieces: BTreeMap<line::From, u64> = BTreeMap::new();
        for at in (1..).step_by(step) {
            let fired = runtime.block_on(spoken(&server, &line, when, at, how));
            let Some(from) = fired else { break };
            *pieces.entry(from).or_default() += 1;
        }
        println!("{when:?}, {how:?}: {pieces:?} in {:?}", began.elapsed());
        assert!(pieces.values().sum::<u64>() > least, "{pieces:?}");
    }
}

/// From when on the line breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// While the store is made.
    Before,
    Opened,
}

/// Runs the script over a line that breaks once and looks at what is left; whose piece was lost.
async fn spoken(server: &PostgresServer, line: &Line, when: When, at: u64, how: Break) -> Option<line::From> {
    let direct = server.database();
    let over =
        StoreAddress::parse(&direct.replace(&server.port.to_string(), &line.port.to_string())).unwrap();
    let files = tempfile::tempdir().unwrap();
    if when == When::Before {
        line.arm(at, how);
    }
    // A store that could not be made is made by the next try.
    let store = Store::open_at(&over, files.path()).or_else(|_| Store::open_at(&over, files.path())).unwrap();
    if when == When::Opened {
        line.arm(at, how);
    }
    let mut told = Told::default();
    small(&store, &mut told, Broken::Line).await;
    drop(store);
    let fired = line.disarm();
    let context = format!("{when:?}, {how:?} at {at} ({fired:?})");
    assert_eq!(told.done.len(), told.steps, "{context}: {:?}", told.done);
    let store = Store::open_at(&StoreAddress::parse(&direct).unwrap(), files.path()).unwrap();
    compare(&store, &told, &context).await;
    fired
}

/// What fails.
#[derive(Clone, Copy, Debug)]
enum Broken {
    Disk(Fault),
    Line,
}

#[derive(Clone, Copy, Debug)]
enum Life {
    /// One by one, several at once, verdicts, a token.
    Small,
    /// Something that does not fit into memory set aside for changes, and others beside it.
    Large,
}

/// What the script was told.
#[derive(Default)]
struct Told {
    done: BTreeSet<Deed>,
    /// The first error that says that the store stopped.
    stopped: Option<usize>,
    steps: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Deed {
    Created(String),
    Decided(String),
    Token(String),
}

/// Runs the script with one fault and looks at what is left; which call failed.
async fn once(life: Life, at: u64, fault: Fault) -> Option<&'static str> {
    // What a sync means is up to the layer; real ones would only take their time.
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let root = directory.path().canonicalize().unwrap();
    let [live, synced, crashed, cut] = ["live", "synced", "crashed", "cut"].map(|name| root.join(name));
    for directory in [&live, &synced, &crashed, &cut] {
        std::fs::create_dir(directory).unwrap();
    }
    let place = |directory: &Path| directory.join("store.db");
    let mut told = Told::default();

    disk::arm(&live, &synced, at, fault);
    // A store that could not be made is made by the next try.
    let store = match Store::open(&place(&live)) {
        Ok(store) => Some(store),
        Err(error) => {
            clear(&error, fault);
            if fault == Fault::Gone { None } else { Some(Store::open(&place(&live)).unwrap()) }
        }
    };
    if let Some(store) = &store {
        match life {
            Life::Small => small(store, &mut told, Broken::Disk(fault)).await,
            Life::Large => large(store, &mut told, Broken::Disk(fault)).await,
        }
    }
    // As they would be found if the process died now, and if the power failed now.
    copy(&live, &crashed);
    copy(&synced, &cut);
    drop(store);
    let fired = disk::disarm();

    for (what, directory) in [("again", &live), ("after a crash", &crashed), ("after a power cut", &cut)] {
        let context = format!("{life:?}, {fault:?} at {at} ({fired:?}), opened {what}");
        check(&place(directory), &told, &context).await;
    }
    fired
}

async fn small(store: &Store, told: &mut Told, broken: Broken) {
    for name in ["a", "b", "c"] {
        let answer = store.commit(creation(name)).await;
        note(told, Deed::Created(name.to_owned()), answer, broken);
    }
    decide(store, "a", Verdict::Approve, told, broken).await;
    at_once(store, (0..8).map(|n| creation(&format!("at once {n}"))), told, broken).await;
    let answer = store.add_token(token(), Digest::of(b"secret")).await;
    note(told, Deed::Token("t".to_owned()), answer.map_err(CommitError::Store), broken);
    decide(store, "b", Verdict::Reject, told, broken).await;
    let answer = store.commit(creation("last")).await;
    note(told, Deed::Created("last".to_owned()), answer, broken);
}

async fn large(store: &Store, told: &mut Told, broken: Broken) {
    let answer = store.commit(creation("a")).await;
    note(told, Deed::Created("a".to_owned()), answer, broken);
    let mut commits = ["b", "large", "c"].map(creation);
    let bytes = Deliverable::Bytes(vec![255; 3 << 20]).content().unwrap();
    commits[1].checkpoint.digest = bytes.digest;
    commits[1].events = vec![Event::created(&commits[1].checkpoint)];
    commits[1].content = Some(bytes);
    at_once(store, commits.into_iter(), told, broken).await;
    let answer = store.commit(creation("last")).await;
    note(told, Deed::Created("last".to_owned()), answer, broken);
}

/// Sent before any is answered.
async fn at_once(store: &Store, commits: impl Iterator<Item = Commit>, told: &mut Told, broken: Broken) {
    let tasks: Vec<_> = commits
        .map(|commit| {
            let (store, name) = (store.clone(), commit.checkpoint.id.to_string());
            tokio::spawn(async move { (name, store.commit(commit).await) })
        })
        .collect();
    for task in tasks {
        let (name, answer) = task.await.unwrap();
        note(told, Deed::Created(name), answer, broken);
    }
}

async fn decide(store: &Store, name: &str, verdict: Verdict, told: &mut Told, broken: Broken) {
    // Reading goes on when writing does not.
    let Some(stored) = store.checkpoint(&CheckpointId::new(name).unwrap()).await.unwrap() else { return };
    let given = GivenVerdict {
        verdict,
        reason: Some("why".to_owned()),
        by: "ann".to_owned(),
        digest: None,
        at: at(2),
    };
    let Ok(Resolved::Now(next)) = stored.checkpoint.resolve(&given) else { panic!("not pending") };
    let events = vec![Event::resolved(&next)];
    let commit = Commit { expected: stored.version, checkpoint: *next, events, at: at(2), content: None };
    let answer = store.commit(commit).await;
    note(told, Deed::Decided(name.to_owned()), answer, broken);
}

/// Keeps what was answered, and holds the store to its word that it stopped.
fn note(told: &mut Told, deed: Deed, answer: Result<(), CommitError>, broken: Broken) {
    told.steps += 1;
    match answer {
        Ok(()) => {
            assert_eq!(told.stopped, None, "{deed:?} was acknowledged after the store had stopped");
            told.done.insert(deed);
        }
        Err(CommitError::Conflict | CommitError::LeaseLost) => panic!("{deed:?} met a conflict with nobody"),
        Err(CommitError::Store(error)) => {
            let Broken::Disk(fault) = broken else { panic!("{deed:?}: {error}") };
            assert!(disk::fired(), "{deed:?}: {error}");
            clear(&error, fault);
            if matches!(error, StoreError::WriteFailed { .. }) {
                told.stopped.get_or_insert(told.steps);
            } else {
                assert_eq!(told.stopped, None, "{deed:?}: {error}");
            }
        }
    }
}

/// A person can see from it that it was the disk.
fn clear(error: &StoreError, fault: Fault) {
    let about_the_disk = match error {
        StoreError::DiskFull => fault == Fault::Full,
        StoreError::WriteFailed { .. } => true,
        _ => false,
    };
    assert!(about_the_disk, "{fault:?} was told as: {error}");
    assert!(error.hint().is_some());
}

/// Opens what is left and compares.
async fn check(place: &Path, told: &Told, context: &str) {
    let store = Store::open(place).unwrap_or_else(|error| panic!("{context}: {error}"));
    compare(&store, told, context).await;
    drop(store);
    let sqlite = rusqlite::Connection::open(place).unwrap();
    let found: String = sqlite.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok", "{context}");
}

async fn compare(store: &Store, told: &Told, context: &str) {
    let mut streams: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for event in store.events(Position(0), None, usize::MAX).await.unwrap() {
        streams.entry(event.stream.clone()).or_default().push(event);
    }
    let rows = store.checkpoints(&CheckpointFilter::default(), 0, usize::MAX).await.unwrap().items;
    let mut left = BTreeSet::new();
    for row in &rows {
        let id = &row.checkpoint.id;
        let events = streams.remove(id.as_str()).unwrap_or_default();
        assert_eq!(events.len() as u64, row.version.0, "{context}: events of {id}");
        let tell =
            events.iter().fold(None, |so_far, event| fold_checkpoint(so_far, id, event.at, &event.event));
        assert_eq!(tell.as_ref(), Some(&row.checkpoint), "{context}: {id} is there by halves");
        assert!(store.content(&row.checkpoint.digest).await.unwrap().is_some(), "{context}: content of {id}");
        left.insert(Deed::Created(id.to_string()));
        if row.checkpoint.status != CheckpointStatus::Pending {
            left.insert(Deed::Decided(id.to_string()));
        }
    }
    assert!(streams.is_empty(), "{context}: events of nobody, {streams:?}");
    for token in store.tokens().await.unwrap() {
        left.insert(Deed::Token(token.id));
    }
    let lost: Vec<_> = told.done.difference(&left).collect();
    assert!(lost.is_empty(), "{context}: acknowledged and lost: {lost:?}");
    assert_eq!(store.stats().await.unwrap().contents, i64::try_from(rows.len()).unwrap(), "{context}");
    // It goes on.
    store.commit(creation("afterwards")).await.unwrap_or_else(|error| panic!("{context}: {error}"));
}

/// The files without the shared memory, which does not outlive its processes.
fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if !entry.file_name().to_string_lossy().ends_with("-shm") {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

fn content(name: &str) -> Content {
    Deliverable::Text(format!("{name} {}", "long enough to fill a page or so ".repeat(60))).content().unwrap()
}

fn creation(name: &str) -> Commit {
    let content = content(name);
    let checkpoint = Checkpoint {
        id: CheckpointId::new(name).unwrap(),
        run: None,
        owner: None,
        created_by: None,
        worker: "writer".to_owned(),
        phase: "draft".to_owned(),
        kind: "deliverable".to_owned(),
        status: CheckpointStatus::Pending,
        digest: content.digest,
        moved: false,
        round: 1,
        created_at: at(1),
        expires_at: None,
        resolved_at: None,
        reason: None,
        resolved_by: None,
    };
    let events = vec![Event::created(&checkpoint)];
    Commit { expected: Version(0), checkpoint, events, at: at(1), content: Some(content) }
}

fn token() -> TokenRow {
    TokenRow {
        id: "t".to_owned(),
        principal: Principal::new("ann", PrincipalKind::Person, Role::Reviewer),
        created_at: at(1),
        expires_at: None,
        revoked_at: None,
    }
}
