//! What a step costs beside its own process, how large a log is, how fast the machine is without I/O.
//! Run by `scripts/bench`.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkrein_core::classify::Classifier;
use checkrein_core::deliverable::Digest;
use checkrein_core::plan::Plan;
use checkrein_core::policy::{Policy, Scope};
use checkrein_core::response::Response;
use checkrein_core::run::{Command as Asked, Definition, Finished, Run, RunEvent, RunId, RunStatus};
use jiff::Timestamp;

#[path = "shared/mod.rs"]
mod shared;

use shared::{Table, bare, insert, median, ms, rate, verdict};

const STEPS: usize = 200;
const TURNS: usize = 7;
/// A run of so many steps with some findings in it is the example of docs/result-handling.md.
const LOG_BYTES_MAX: u64 = 20 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let binary = std::env::var("CHECKREIN_BIN").map_err(|_| "run it by scripts/bench")?;
    // On the disk the work is on: a temporary directory may be memory.
    let place = tempfile::tempdir_in(std::env::current_dir()?)?;
    let mut table = Table::default();
    steps(&binary, place.path(), &mut table)?;
    log(&binary, place.path(), &mut table)?;
    machine(&mut table)?;
    table.print();
    Ok(())
}

/// In turns, so that whatever else the machine does hits all alike.
fn steps(binary: &str, place: &Path, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let steps: String = (0..STEPS).map(|n| format!("      - {{id: s{n}, run: 'true'}}\n")).collect();
    std::fs::write(place.join("many.yaml"), format!("id: many\nphases:\n  all:\n    steps:\n{steps}"))?;
    std::fs::write(place.join("one.yaml"), "id: one\nphases: {all: {steps: [{id: s, run: 'true'}]}}\n")?;
    let connection = bare(&place.join("floor.db"))?;
    let (mut commits, mut spawns, mut overheads) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let mut own = Vec::new();
        for n in 0..STEPS {
            let begun = Instant::now();
            connection.execute_batch("BEGIN IMMEDIATE")?;
            insert(&connection, turn * STEPS + n)?;
            connection.execute_batch("COMMIT")?;
            own.push(begun.elapsed());
        }
        commits.push(median(own));
        let begun = Instant::now();
        for _ in 0..STEPS {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            shell.spawn()?.wait_with_output()?;
        }
        let spawn = begun.elapsed() / u32::try_from(STEPS)?;
        let one = run(binary, place, "one.yaml")?;
        let many = run(binary, place, "many.yaml")?;
        let step = many.saturating_sub(one) / u32::try_from(STEPS - 1)?;
        spawns.push(spawn);
        overheads.push(step.saturating_sub(spawn));
    }
    let (commit, spawn, overhead) = (median(commits), median(spawns), median(overheads));
    let goal = commit + Duration::from_millis(2);
    table.row("one bare commit (SQLite, WAL, synchronous FULL)", ms(commit), "", "the floor".into());
    table.row("starting `sh -c true`, output captured", ms(spawn), "", "the floor".into());
    table.row(
        &format!("a step of {STEPS} × `true`, beyond starting it"),
        ms(overhead),
        &verdict(overhead <= goal, &format!("≤ {} (one commit + 2 ms)", ms(goal))),
        format!("{:.2} × one commit", overhead.as_secs_f64() / commit.as_secs_f64()),
    );
    Ok(())
}

fn run(binary: &str, place: &Path, file: &str) -> Result<Duration, Box<dyn Error>> {
    let begun = Instant::now();
    let mut checkrein = Command::new(binary);
    checkrein.args(["run", file, "--format", "minimal", "--store", "store.db"]).current_dir(place);
    let ran = checkrein.stdin(Stdio::null()).output()?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into_owned().into());
    }
    Ok(begun.elapsed())
}

/// Thirteen steps in five phases, three of them with a warning.
fn log(binary: &str, place: &Path, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let warned = |text: &str, severity: &str, category: &str| {
        format!(
            r#"echo '{{"status":"warning","message":"Done with something to look at","warnings":[{{"text":"{text}","severity":"{severity}","category":"{category}","suggested_fix":"Look at it before the next major version"}}],"warning_analysis":"Consider it","details":{{"files":45}}}}'"#
        )
    };
    let spec = warned("Spec has incomplete acceptance criteria", "medium", "validation");
    let api = warned("Deprecated API usage detected (will be removed in v3.0)", "medium", "deprecation");
    let large = warned("Large commit size (847 lines added)", "low", "style");
    let mut text =
        "id: example\nautonomy: {warning_tolerance: medium, check_in_frequency: end-only}\nphases:\n"
            .to_owned();
    for (phase, steps) in [("frame", 3), ("architect", 2), ("build", 4), ("evaluate", 2), ("release", 2)] {
        text.push_str(&format!("  {phase}:\n    steps:\n"));
        for n in 0..steps {
            let command = match (phase, n) {
                ("architect", 1) => spec.as_str(),
                ("build", 1) => api.as_str(),
                ("build", 3) => large.as_str(),
                _ => "echo '{\"message\":\"Done\"}'",
            };
            text.push_str(&format!("      - id: step-{n}\n        run: |\n          {command}\n"));
        }
    }
    let here = place.join("example");
    std::fs::create_dir_all(&here)?;
    std::fs::write(here.join("example.yaml"), text)?;
    let mut checkrein = Command::new(binary);
    checkrein
        .args(["run", "example.yaml", "--yes", "--store", "store.db"])
        .current_dir(&here)
        .stdin(Stdio::null());
    let ran = checkrein.output()?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into_owned().into());
    }
    let mut bytes = 0;
    for entry in std::fs::read_dir(here.join("logs"))? {
        bytes += entry?.metadata()?.len();
    }
    let met = verdict(bytes <= LOG_BYTES_MAX && bytes > 0, &format!("≤ {LOG_BYTES_MAX} B"));
    table.row("log of the example: 13 steps, 3 warnings", format!("{bytes} B"), &met, String::new());
    Ok(())
}

/// The machine without store and processes.
fn machine(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let tasks: Vec<serde_json::Value> = (0..STEPS)
        .map(|n| serde_json::json!({"id": format!("all:s{n}"), "name": format!("s{n}"), "kind": "step", "action": {"shell": "true"}}))
        .collect();
    let plan: Plan = serde_json::from_value(serde_json::json!({
        "workflow": "many",
        "phases": [{"name": "all", "enabled": true, "max_retries": 0, "tasks": tasks}],
    }))?;
    let definition = Arc::new(Definition {
        plan,
        policy: Policy::builtin(Scope::Workflow),
        target: None,
        work_id: None,
        values: Default::default(),
        directory: "/".to_owned(),
        only: Vec::new(),
        job: None,
    });
    let response = Response::normalise(&serde_json::json!({"message": "done"}), Classifier::builtin());
    let mut rates = Vec::new();
    for _ in 0..21 {
        let begun = Instant::now();
        let mut events = 0;
        for _ in 0..20 {
            events += whole(&definition, &response)?;
        }
        rates.push(f64::from(events) / begun.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    let median = rates.get(rates.len() / 2).copied().unwrap_or(0.0);
    table.row("events of the run machine alone", rate(median), "", "no store, no processes".into());
    Ok(())
}

/// How many events one run has.
fn whole(definition: &Arc<Definition>, response: &Response) -> Result<u32, Box<dyn Error>> {
    let now = Timestamp::UNIX_EPOCH;
    let created = RunEvent::RunCreated {
        workflow: "many".to_owned(),
        target: None,
        work_id: None,
        definition: Digest::of(b""),
        rerun_of: None,
        by: "bench".to_owned(),
    };
    let (mut run, _) = Run::create(RunId::new("r"), Arc::clone(definition), created, now);
    run.apply(Asked::Start, now)?;
    while run.state.status == RunStatus::Running {
        let finished = Finished {
            start: run.state.starts,
            responses: vec![("id".to_owned(), response.clone())],
            started_at: now,
            duration_ms: 1,
            exit_code: Some(0),
            output: None,
            work: None,
        };
        run.apply(Asked::Finish(finished), now)?;
    }
    if run.state.status != RunStatus::Completed {
        return Err(format!("the run is {}", run.state.status).into());
    }
    Ok(u32::try_from(run.state.version)?)
}
