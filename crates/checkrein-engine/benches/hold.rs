//! How fast a hold is, beside what the disk itself can do and beside a peer. Run by `scripts/bench`.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use checkrein_core::checkpoint::{CheckpointStatus, Verdict};
use checkrein_core::config::Settings;
use checkrein_core::deliverable::{Deliverable, Digest};
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_engine::{Engine, NewCheckpoint, VerdictRequest};
use checkrein_store::{CheckpointFilter, Store};
use rusqlite::Connection;
use serde_json::Value;

#[path = "shared/mod.rs"]
mod shared;

use shared::{Table, bare, insert, median, ms, rate, verdict};

const CYCLES: usize = 300;
const TASKS: usize = 64;
/// Checkpoints each of many makes and decides, one after the other.
const ROUNDS: usize = 20;
const PROCESSES: usize = 16;
const MANY: usize = 1_000_000;
const DRAFT: &str = "Draft market analysis report";

/// Sizes of the events of a cycle and a time of today, for loops that write rows of our size.
const CREATED_BYTES: usize = 192;
const RESOLVED_BYTES: usize = 157;
const NOW_MS: i64 = 1_800_000_000_000;

/// Set for a process that takes part in the measurement of many.
const PART: &str = "CHECKREIN_BENCH_PART";

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    if let Ok(path) = std::env::var(PART) {
        return runtime.block_on(part(Path::new(&path)));
    }
    // On the disk the work is on: a temporary directory may be memory.
    let place = tempfile::tempdir_in(std::env::current_dir()?)?;
    let mut table = Table::default();

    // What is compared is measured in turns, so that whatever else the machine does hits both alike.
    let path = place.path().join("one.db");
    let (floor, cycle) = runtime.block_on(cycles(&place.path().join("floor.db"), &path))?;
    let goal = floor * 2 + Duration::from_micros(300);
    table.row("one bare commit (SQLite, WAL, synchronous FULL)", ms(floor), "", "the floor".into());
    table.row(
        "hold cycle: create, approve, waiter released",
        ms(cycle),
        &verdict(cycle <= goal, &format!("≤ {} (two commits + 0.3 ms)", ms(goal))),
        format!("{:.2} × two commits", cycle.as_secs_f64() / (2.0 * floor.as_secs_f64())),
    );
    let bytes = stored(&path)? / CYCLES as u64;
    table.row("stored per cycle", format!("{bytes} B"), &verdict(bytes <= 2048, "≤ 2048 B"), String::new());
    if let Some((peer_ms, peer_bytes)) = peer()? {
        let ratio = peer_ms / (cycle.as_secs_f64() * 1e3);
        table.row(
            "the same in LangGraph on its SQLite saver",
            format!("{peer_ms:.2} ms"),
            "",
            format!("{ratio:.1} × ours"),
        );
        table.row("stored per cycle there", format!("{peer_bytes:.0} B"), "", String::new());
    }

    let groups = place.path().join("groups.db");
    engine(&groups)?;
    let groups = Connection::open(&groups)?;
    groups.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2000")?;
    let busy = std::sync::Arc::new(engine(&place.path().join("tasks.db"))?);
    let mut turns = Vec::new();
    for turn in 0..15 {
        turns.push((bare_groups(&groups, turn)?, runtime.block_on(tasks(&busy, turn))?));
    }
    turns.sort_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)));
    let (bare, ours) = turns.get(turns.len() / 2).copied().unwrap_or_default();
    table.row(
        "a bare loop writing the same rows, 64 changes to a commit",
        rate(bare),
        "",
        "the floor of many".into(),
    );
    table.row(
        "64 tasks in one process, changes",
        rate(ours),
        &verdict(ours >= bare / 2.0, "≥ 50 % of the floor of many"),
        format!("{:.0} %", ours / bare * 100.0),
    );
    let many = processes(&place.path().join("processes.db"))?;
    table.row("16 processes on one file, changes", rate(many), "no error", String::new());

    let full = place.path().join("full.db");
    fill(&full)?;
    let list = runtime.block_on(list(&full))?;
    table.row(
        "list 10 pending among 1,000,000",
        format!("{:.3} ms", list.as_secs_f64() * 1e3),
        &verdict(list <= Duration::from_micros(100), "≤ 0.1 ms"),
        String::new(),
    );
    if let Ok(binary) = std::env::var("CHECKREIN_BIN") {
        let inbox = process(&binary, &["inbox", "--limit", "10", "--store"], &full)?;
        let bare = process("/bin/true", &[], &full)?;
        table.row(
            "`checkrein inbox` on that store",
            ms(inbox),
            &verdict(inbox <= Duration::from_millis(10), "≤ 10 ms"),
            format!("a bare process takes {}", ms(bare)),
        );
    }
    table.print();
    Ok(())
}

/// Changes per second of a loop that does nothing but write the rows that `tasks` writes, 64 changes to
/// a commit.
fn bare_groups(connection: &Connection, turn: usize) -> Result<f64, Box<dyn Error>> {
    let begun = Instant::now();
    for round in 0..ROUNDS {
        for write in [write_created, write_resolved] {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            for task in 0..TASKS {
                write(connection, &format!("{turn}-{task}-{round}"))?;
            }
            connection.execute_batch("COMMIT")?;
        }
    }
    Ok((TASKS * ROUNDS * 2) as f64 / begun.elapsed().as_secs_f64())
}

fn write_created(connection: &Connection, id: &str) -> Result<(), rusqlite::Error> {
    let text = format!("{DRAFT} {id}");
    let (body, digest) = ("x".repeat(CREATED_BYTES), Digest::of(text.as_bytes()));
    connection
        .prepare_cached(
            "INSERT INTO checkpoints (id, version, worker, phase, type, status, round, digest, created_ms)
             VALUES (?1, 1, 'analyst', 'report', 'deliverable', 'pending', 1, ?2, ?3)",
        )?
        .execute((id, digest.as_bytes(), NOW_MS))?;
    connection
        .prepare_cached("INSERT INTO events (stream, seq, at_ms, body) VALUES (?1, 1, ?2, ?3)")?
        .execute((id, NOW_MS, body))?;
    connection
        .prepare_cached("INSERT INTO contents VALUES (?1, 0, ?2)")?
        .execute((digest.as_bytes(), text.as_bytes()))?;
    Ok(())
}

fn write_resolved(connection: &Connection, id: &str) -> Result<(), rusqlite::Error> {
    let body = "x".repeat(RESOLVED_BYTES);
    connection
        .prepare_cached(
            "UPDATE checkpoints SET version = 2, status = 'approved', resolved_ms = ?2, resolved_by = 'ann'
             WHERE id = ?1",
        )?
        .execute((id, NOW_MS))?;
    connection
        .prepare_cached("INSERT INTO events (stream, seq, at_ms, body) VALUES (?1, 2, ?2, ?3)")?
        .execute((id, NOW_MS, body))?;
    Ok(())
}

/// In turns a bare durable commit of a row of our size, and a hold with a waiter that is there
/// before the verdict.
async fn cycles(floor: &Path, path: &Path) -> Result<(Duration, Duration), Box<dyn Error>> {
    let connection = bare(floor)?;
    let engine = std::sync::Arc::new(engine(path)?);
    let (mut floors, mut cycles) = (Vec::new(), Vec::new());
    for n in 0..CYCLES {
        let begun = Instant::now();
        connection.execute_batch("BEGIN IMMEDIATE")?;
        insert(&connection, n)?;
        connection.execute_batch("COMMIT")?;
        floors.push(begun.elapsed());

        let id = format!("cycle-{n}");
        let begun = Instant::now();
        ask(&engine, &id).await?;
        let waiter = {
            let (engine, id) = (std::sync::Arc::clone(&engine), id.clone());
            tokio::spawn(async move { engine.wait_for_checkpoint(&person(), &id, None).await })
        };
        approve(&engine, &id).await?;
        let seen = waiter.await??;
        cycles.push(begun.elapsed());
        if seen.checkpoint.status != CheckpointStatus::Approved {
            return Err("a waiter was released without an approval".into());
        }
    }
    Ok((median(floors), median(cycles)))
}

/// Commits per second of many tasks that share one engine.
async fn tasks(engine: &std::sync::Arc<Engine>, turn: usize) -> Result<f64, Box<dyn Error>> {
    let begun = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let engine = std::sync::Arc::clone(engine);
        running.spawn(async move {
            for round in 0..ROUNDS {
                let id = format!("{turn}-{task}-{round}");
                ask(&engine, &id).await.map_err(|error| error.to_string())?;
                approve(&engine, &id).await.map_err(|error| error.to_string())?;
            }
            Ok::<(), String>(())
        });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok((TASKS * ROUNDS * 2) as f64 / begun.elapsed().as_secs_f64())
}

/// Commits per second of processes that know nothing of each other.
fn processes(path: &Path) -> Result<f64, Box<dyn Error>> {
    engine(path)?;
    let mut parts = Vec::new();
    for _ in 0..PROCESSES {
        let part = Command::new(std::env::current_exe()?).env(PART, path).stdout(Stdio::piped()).spawn()?;
        parts.push(part);
    }
    let begun = Instant::now();
    let mut commits = 0;
    for mut part in parts {
        let output = part.stdout.take().ok_or("a part says nothing")?;
        for line in BufReader::new(output).lines() {
            commits += line?.parse::<usize>()?;
        }
        if !part.wait()?.success() {
            return Err("a process failed".into());
        }
    }
    Ok(commits as f64 / begun.elapsed().as_secs_f64())
}

async fn part(path: &Path) -> Result<(), Box<dyn Error>> {
    let engine = engine(path)?;
    for round in 0..ROUNDS {
        let id = format!("{}-{round}", std::process::id());
        ask(&engine, &id).await?;
        approve(&engine, &id).await?;
    }
    println!("{}", ROUNDS * 2);
    Ok(())
}

/// A long history with ten open checkpoints at its end.
fn fill(path: &Path) -> Result<(), Box<dyn Error>> {
    engine(path)?;
    let connection = Connection::open(path)?;
    connection.execute_batch(&format!(
        "PRAGMA synchronous = OFF;
         INSERT INTO checkpoints (id, version, worker, phase, type, status, round, digest, created_ms, resolved_ms)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})
         SELECT printf('%036d', i), 2, 'analyst', 'report', 'deliverable',
                CASE WHEN i > {MANY} - 10 THEN 'pending' ELSE 'approved' END, 1, randomblob(32), i, i FROM n;
         PRAGMA wal_checkpoint(TRUNCATE);"
    ))?;
    Ok(())
}

async fn list(path: &Path) -> Result<Duration, Box<dyn Error>> {
    let engine = engine(path)?;
    let filter = CheckpointFilter { status: Some(CheckpointStatus::Pending), ..CheckpointFilter::default() };
    let mut times = Vec::new();
    for _ in 0..CYCLES {
        let begun = Instant::now();
        let page = engine.checkpoints(&person(), &filter, 0, 10).await?;
        times.push(begun.elapsed());
        if page.items.len() != 10 {
            return Err("not all pending ones were listed".into());
        }
    }
    Ok(median(times))
}

fn process(program: &str, arguments: &[&str], store: &Path) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..30 {
        let begun = Instant::now();
        let status = Command::new(program).args(arguments).arg(store).stdout(Stdio::null()).status()?;
        times.push(begun.elapsed());
        if !status.success() {
            return Err(format!("{program} failed").into());
        }
    }
    Ok(median(times))
}

/// The peer's milliseconds and bytes per cycle, where `scripts/bench` installed it.
fn peer() -> Result<Option<(f64, f64)>, Box<dyn Error>> {
    let Ok(python) = std::env::var("CHECKREIN_PEER_PYTHON") else { return Ok(None) };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/peers/langgraph_sqlite.py");
    let output = Command::new(python).arg(script).env("TMPDIR", std::env::current_dir()?).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| answer.get(name).and_then(Value::as_f64).ok_or("the peer said nothing");
    Ok(Some((number("ms")?, number("bytes")?)))
}

fn stored(path: &Path) -> Result<u64, Box<dyn Error>> {
    Connection::open(path)?.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(std::fs::metadata(path)?.len())
}

fn engine(path: &Path) -> Result<Engine, Box<dyn Error>> {
    let settings = Settings::new(None, None, None, Vec::new())?;
    Ok(Engine::new(Store::open(path)?, settings))
}

fn person() -> Principal {
    Principal::new("ann", PrincipalKind::Person, Role::Admin)
}

async fn ask(engine: &Engine, id: &str) -> Result<(), checkrein_engine::EngineError> {
    let new = NewCheckpoint {
        id: Some(id.to_owned()),
        worker: "analyst".into(),
        phase: "report".into(),
        kind: "deliverable".into(),
        deliverable: Deliverable::Text(format!("{DRAFT} {id}")),
    };
    engine.create_checkpoint(&person(), new).await.map(|_| ())
}

async fn approve(engine: &Engine, id: &str) -> Result<(), checkrein_engine::EngineError> {
    let request = VerdictRequest::new(Verdict::Approve, None);
    engine.give_verdict(&person(), id, &request).await.map(|_| ())
}
