//! How fast holds, claims and lists are on PostgreSQL, beside peers on the same server. Run by `scripts/bench`.
//!
//! `CHECKREIN_EVENTS` is how far the history grows (1,000,000 if nothing is said), `CHECKREIN_SMALL` makes
//! everything small, to see that it works.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkrein_core::checkpoint::{CheckpointStatus, Verdict};
use checkrein_core::config::Settings;
use checkrein_core::deliverable::Deliverable;
use checkrein_core::plan::Plan;
use checkrein_core::policy::{Policy, Scope};
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_core::run::{Definition, RunStatus};
use checkrein_engine::{Engine, NewCheckpoint, VerdictRequest};
use checkrein_store::{CheckpointFilter, Claimant, RunFilter, Store, StoreAddress};
use serde_json::Value;

#[path = "../../checkrein-store/tests/shared/postgres.rs"]
#[allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "shared with tests")]
mod postgres;
#[path = "shared/mod.rs"]
mod shared;

use postgres::PostgresServer;
use shared::{Table, median, ms, rate};

type Failed = Box<dyn Error>;

const TASKS: usize = 64;
const QUEUED: usize = 10_000;
const DRAFT: &str = "Draft market analysis report";

fn main() -> Result<(), Failed> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let small = std::env::var_os("CHECKREIN_SMALL").is_some();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
    let server = PostgresServer::start(&[]);
    let files = tempfile::tempdir()?;
    let open = |address: &str| -> Result<Store, Failed> {
        Ok(Store::open_at(&StoreAddress::parse(address)?, files.path())?)
    };
    let mut table = Table::default();
    holds(&mut table, &runtime, &server, &open, if small { 30 } else { 300 })?;
    claims(&mut table, &runtime, &server, &open)?;
    let most = std::env::var("CHECKREIN_EVENTS").ok().and_then(|text| text.parse().ok());
    history(&mut table, &runtime, &server, &open, most.unwrap_or(if small { 10_000 } else { 1_000_000 }))?;
    table.print();
    Ok(())
}

type Open<'a> = &'a dyn Fn(&str) -> Result<Store, Failed>;

/// A hold, alone and by 64 at once, and the same in peers on this server.
fn holds(
    table: &mut Table,
    runtime: &tokio::runtime::Runtime,
    server: &PostgresServer,
    open: Open<'_>,
    cycles: usize,
) -> Result<(), Failed> {
    let address = server.database();
    let engine = Arc::new(engine(open(&address)?)?);
    let (cycle, many) = runtime.block_on(async {
        let mut times = Vec::new();
        for number in 0..cycles {
            let begun = Instant::now();
            hold(&engine, &format!("one-{number}")).await?;
            times.push(begun.elapsed());
        }
        let each = (cycles / 10).max(3);
        let begun = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..TASKS {
            let engine = Arc::clone(&engine);
            tasks.spawn(async move {
                for round in 0..each {
                    let done = hold(&engine, &format!("many-{task}-{round}")).await;
                    done.map_err(|error| error.to_string())?;
                }
                Ok::<(), String>(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        Ok::<_, Failed>((median(times), (TASKS * each) as f64 / begun.elapsed().as_secs_f64()))
    })?;
    table.row("hold cycle on PostgreSQL: create, approve, waiter released", ms(cycle), "", String::new());
    table.row("64 tasks in one process, holds", rate(many), "", String::new());
    for (script, what) in
        [("langgraph_postgres.py", "LangGraph's PostgreSQL saver"), ("dbos_postgres.py", "DBOS")]
    {
        let Some((peer_ms, peer_rate)) = peer(script, &server.database(), cycles)? else { continue };
        let ours_ms = cycle.as_secs_f64() * 1e3;
        let ratio = format!("{:.1} × ours", peer_ms / ours_ms);
        table.row(&format!("the same cycle in {what}"), format!("{peer_ms:.2} ms"), "", ratio);
        let ratio = format!("ours are {:.1} × that", many / peer_rate);
        table.row(&format!("64 clients of {what}, holds"), rate(peer_rate), "", ratio);
    }
    Ok(())
}

async fn hold(engine: &Arc<Engine>, id: &str) -> Result<(), checkrein_engine::EngineError> {
    let new = NewCheckpoint {
        id: Some(id.to_owned()),
        worker: "analyst".into(),
        phase: "report".into(),
        kind: "deliverable".into(),
        deliverable: Deliverable::Text(format!("{DRAFT} {id}")),
    };
    engine.create_checkpoint(&person(), new).await?;
    let waiter = {
        let (engine, id) = (Arc::clone(engine), id.to_owned());
        tokio::spawn(async move { engine.wait_for_checkpoint(&person(), &id, None).await })
    };
    engine.give_verdict(&person(), id, &VerdictRequest::new(Verdict::Approve, None)).await?;
    match waiter.await {
        Ok(seen) => seen.map(drop),
        Err(_) => Err(checkrein_store::StoreError::Closed.into()),
    }
}

/// The peer's milliseconds and holds per second, where `scripts/bench` installed it.
fn peer(script: &str, address: &str, cycles: usize) -> Result<Option<(f64, f64)>, Failed> {
    let Ok(python) = std::env::var("CHECKREIN_PEER_PYTHON_POSTGRES") else { return Ok(None) };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/peers").join(script);
    let address = address.replace("postgres://", "postgresql://");
    let output = Command::new(python)
        .arg(script)
        .arg(address)
        .args([cycles.to_string(), TASKS.to_string()])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| answer.get(name).and_then(Value::as_f64).ok_or("the peer said nothing");
    Ok(Some((number("ms")?, number("per_second")?)))
}

/// Ten thousand runs wait, and workers take them.
fn claims(
    table: &mut Table,
    runtime: &tokio::runtime::Runtime,
    server: &PostgresServer,
    open: Open<'_>,
) -> Result<(), Failed> {
    for (workers, at_once) in [(1, 1), (4, 1), (4, 16)] {
        let address = server.database();
        let stores: Vec<Store> = (0..workers).map(|_| open(&address)).collect::<Result<_, _>>()?;
        queue(server, &address, QUEUED)?;
        let begun = Instant::now();
        let taken = runtime.block_on(async {
            let mut claiming = tokio::task::JoinSet::new();
            for (number, store) in stores.into_iter().enumerate() {
                claiming.spawn(async move {
                    let mut taken = 0;
                    while begun.elapsed() < Duration::from_secs(20) {
                        match store.claim_runs(claimant(number), at_once).await?.len() {
                            0 => break,
                            some => taken += some,
                        }
                    }
                    Ok::<usize, checkrein_store::StoreError>(taken)
                });
            }
            let mut taken = 0;
            while let Some(done) = claiming.join_next().await {
                taken += done??;
            }
            Ok::<usize, Failed>(taken)
        })?;
        let what = format!("claims with 10,000 queued runs, {workers} workers, {at_once} at once");
        table.row(&what, rate(taken as f64 / begun.elapsed().as_secs_f64()), "", String::new());
    }
    Ok(())
}

fn queue(server: &PostgresServer, address: &str, count: usize) -> Result<(), Failed> {
    let name = address.rsplit('/').next().unwrap_or_default();
    let sql = format!(
        "INSERT INTO leases (run, epoch, due_ms) SELECT 'q' || i, 0, i FROM generate_series(1, {count}) AS i;
         ANALYZE leases"
    );
    if server.psql(name, &sql) { Ok(()) } else { Err("the queue cannot be filled".into()) }
}

fn claimant(number: usize) -> Claimant {
    Claimant {
        worker: format!("w{number}"),
        name: format!("w{number}"),
        host: "here".to_owned(),
        labels: Vec::new(),
        term: Duration::from_secs(3600),
        repository_max: None,
        passes_by: Vec::new(),
    }
}

/// Lists and claims beside a history that grows, with ten thousand old held runs and as many that wait.
fn history(
    table: &mut Table,
    runtime: &tokio::runtime::Runtime,
    server: &PostgresServer,
    open: Open<'_>,
    most: u64,
) -> Result<(), Failed> {
    let address = server.database();
    let store = open(&address)?;
    let engine = engine(open(&address)?)?;
    runtime.block_on(engine.create_run(&person(), definition()?, None))?;
    let name = address.rsplit('/').next().unwrap_or_default().to_owned();
    let say = |sql: &str| if server.psql(&name, sql) { Ok(()) } else { Err(format!("refused: {sql}")) };
    let like_the_first = |id: &str, status: &str, range: &str| {
        format!(
            "INSERT INTO runs (id, version, workflow, definition, status, created_ms, updated_ms, state)
             SELECT '{id}' || i, 1, workflow, definition, '{status}', i, i, state FROM generate_series({range}) AS i,
                    (SELECT workflow, definition, state FROM runs ORDER BY number LIMIT 1) AS first"
        )
    };
    say(&like_the_first("held", "held", &format!("1, {QUEUED}")))?;
    queue(server, &address, QUEUED)?;
    let (mut events, mut wanted) = (0, 10_000);
    while wanted <= most {
        // Twelve events to a run that is over.
        say(&format!(
            "INSERT INTO events (stream, seq, at_ms, body)
             SELECT 'over' || i / 12, i % 12 + 1, i, repeat('x', 180) FROM generate_series({events}, {wanted} - 1) AS i"
        ))?;
        say(&like_the_first("over", "completed", &format!("{}, {}", events / 12 + 1, wanted / 12)))?;
        say("ANALYZE")?;
        events = wanted;
        let held = RunFilter { status: Some(RunStatus::Held), ..RunFilter::default() };
        let pending =
            CheckpointFilter { status: Some(CheckpointStatus::Pending), ..CheckpointFilter::default() };
        let timed = |what: &str| -> Result<Duration, Failed> {
            let mut times = Vec::new();
            for _ in 0..15 {
                let begun = Instant::now();
                runtime.block_on(async {
                    match what {
                        "500 old held runs" => drop(store.runs(&held, None, 500).await?),
                        "the newest 50 runs" => drop(store.runs(&RunFilter::default(), None, 50).await?),
                        "100 open checkpoints" => drop(store.checkpoints(&pending, 0, 100).await?),
                        _ => drop(store.claim_runs(claimant(0), 1).await?),
                    }
                    Ok::<(), checkrein_store::StoreError>(())
                })?;
                times.push(begun.elapsed());
            }
            Ok(median(times))
        };
        for what in ["500 old held runs", "the newest 50 runs", "100 open checkpoints", "one claim"] {
            table.row(&format!("{what}, {events} events"), ms(timed(what)?), "", String::new());
        }
        wanted *= 10;
    }
    Ok(())
}

fn definition() -> Result<Definition, Failed> {
    let plan: Plan = serde_json::from_str(r#"{"workflow": "w", "phases": []}"#)?;
    Ok(Definition {
        plan,
        policy: Policy::builtin(Scope::Workflow),
        target: None,
        work_id: None,
        values: Default::default(),
        directory: "/".into(),
        only: Vec::new(),
        job: None,
    })
}

fn engine(store: Store) -> Result<Engine, Failed> {
    Ok(Engine::new(store, Settings::new(None, None, None, Vec::new())?))
}

fn person() -> Principal {
    Principal::new("ann", PrincipalKind::Person, Role::Admin)
}
