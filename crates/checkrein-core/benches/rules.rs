//! How fast the rules are, beside what the machine itself can do. Run by `scripts/bench`.

#![allow(unsafe_code, reason = "counting allocations takes an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use checkrein_core::boundary::{Boundary, BoundaryKind, PhaseKind};
use checkrein_core::classify::Classifier;
use checkrein_core::decision::{Decision, Handling, Outcome, Situation, StepOrHook, decide};
use checkrein_core::deliverable::Digest;
use checkrein_core::finding::{Finding, Severity};
use checkrein_core::frame::{Fold, FrameTree, PopStatus, assemble_context};
use checkrein_core::plan::{Action, Plan, PlannedPhase, Task};
use checkrein_core::policy::{Policy, Scope, Tolerance};
use checkrein_core::report::{Format, Report, Style};
use checkrein_core::response::Response;
use checkrein_core::run::{Command as RunCommand, Definition, Finished, Run, RunEvent, RunId};
use indexmap::IndexMap;
use jiff::Timestamp;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let mut table = Table::default();
    boundaries(&mut table)?;
    findings(&mut table)?;
    texts(&mut table)?;
    context(&mut table)?;
    reports(&mut table)?;
    process(&mut table)?;
    table.print();
    Ok(())
}

/// A resolved policy and a boundary without anything to judge.
fn boundaries(table: &mut Table) -> Result<(), Box<dyn Error>> {
    fn nothing(situation: &Situation<'_>) -> bool {
        situation.response.is_some()
    }
    let step = Boundary::default();
    let step = Situation::at(&step);
    let call: fn(&Situation<'_>) -> bool = black_box(nothing);
    let limit = table.limit("a call that does nothing", || call(black_box(&step)));

    let phase = Boundary { kind: BoundaryKind::Phase, phase: Some("build".into()), ..Boundary::default() };
    let found = Situation { findings_since_check_in: 1, ..Situation::at(&phase) };
    let tactical = Boundary {
        kind: BoundaryKind::Phase,
        phase_kind: Some(PhaseKind::Tactical),
        phase_number: Some(2),
        ..Boundary::default()
    };
    let strategic =
        Boundary { phase_kind: Some(PhaseKind::Strategic), phase_number: Some(1), ..tactical.clone() };
    for (name, scope, situation, expected) in [
        ("workflow: a step proceeds", Scope::Workflow, step, Outcome::Proceed),
        ("workflow: a phase end holds", Scope::Workflow, found, Outcome::Hold),
        ("job, partial: a tactical phase proceeds", Scope::Job, Situation::at(&tactical), Outcome::Proceed),
        (
            "job, partial: the first strategic phase holds",
            Scope::Job,
            Situation::at(&strategic),
            Outcome::Hold,
        ),
    ] {
        let policy = Policy::builtin(scope);
        expect(name, &decide(&policy, &situation), expected)?;
        table.row(name, Goal::PerSecond(20_000_000), Some(0), limit, || {
            let decision = decide(black_box(&policy), black_box(&situation));
            black_box(&decision).outcome
        });
    }
    Ok(())
}

/// Ten findings that are classified already.
fn findings(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let response = Response::normalise(&ten_warnings(), Classifier::builtin());
    let limit = table.limit("reading ten severities", || high(black_box(&response.warnings)));
    let boundary = Boundary::default();
    let situation = Situation { response: Some(&response), ..Situation::at(&boundary) };
    let mut policy = Policy::builtin(Scope::Workflow);
    for (name, tolerance, expected) in [
        ("ten findings, none exceeds", Tolerance::High, Outcome::Proceed),
        ("ten findings, one exceeds", Tolerance::Medium, Outcome::Stop),
    ] {
        policy.tolerance.warning = tolerance.into();
        let decision = decide(&policy, &situation);
        expect(name, &decision, expected)?;
        table.row(name, Goal::PerSecond(1_000_000), None, limit, || {
            let decision = decide(black_box(&policy), black_box(&situation));
            black_box(&decision).outcome
        });
    }
    Ok(())
}

fn high(findings: &[Finding]) -> usize {
    findings.iter().filter(|finding| finding.severity == Severity::High).count()
}

/// Ten texts of 80 characters as an agent returns them, read, classified and decided.
fn texts(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let raw = ten_warnings();
    let all = TEXTS.concat();
    if all.len() != 800 {
        return Err(format!("ten texts of 80 characters have {}", all.len()).into());
    }
    let limit = table.limit("reading 800 bytes one by one", || spaces(black_box(&all)));
    table.limit("copying ten texts", || black_box(&TEXTS).map(str::to_owned));
    let boundary = Boundary::default();
    let policy = Policy::builtin(Scope::Workflow);
    let classifier = Classifier::builtin();
    table.row("ten raw texts, read and decided", Goal::PerSecond(300_000), None, limit, || {
        let response = Response::normalise(black_box(&raw), classifier);
        let situation = Situation { response: Some(&response), ..Situation::at(&boundary) };
        decide(&policy, &situation).outcome
    });
    table.row("one raw text, classified", Goal::None, None, limit, || {
        classifier.classify(black_box(TEXTS[0])).severity
    });
    Ok(())
}

fn spaces(text: &str) -> usize {
    // Bytes are kept apart on purpose: an automaton looks at each before it knows the next.
    text.bytes().filter(|byte| black_box(*byte) == b' ').count()
}

/// A frame at depth 50 in a tree of 10,000.
fn context(table: &mut Table) -> Result<(), Box<dyn Error>> {
    const DEPTH: usize = 50;
    const FRAMES: usize = 10_000;
    let mut tree = FrameTree::default();
    for depth in 0..DEPTH {
        tree.push(format!("level-{depth}"), format!("goal of level {depth}: {}", text(depth)))?;
        if depth + 1 == DEPTH {
            break;
        }
        for number in 0..(FRAMES - DEPTH).div_ceil(DEPTH - 1) {
            if tree.frames().count() + DEPTH - depth > FRAMES {
                break;
            }
            tree.push(format!("side-{depth}-{number}"), format!("goal {number}"))?;
            tree.pop(Fold {
                status: PopStatus::Completed,
                summary: Some(text(number).to_owned()),
                artifacts: vec![format!("src/{depth}/{number}.rs")],
                decisions: Vec::new(),
                log_path: Some(format!("logs/{depth}/{number}.md")),
            })?;
        }
    }
    let id = tree.current().map(|frame| frame.id.clone()).ok_or("the tree has a current frame")?;
    let (frames, depth) = (tree.frames().count(), tree.ancestors(&id).count() + 1);
    if (frames, depth) != (FRAMES, DEPTH) {
        return Err(format!("a tree of {frames} frames, depth {depth}").into());
    }
    let made = assemble_context(&tree, &id, 4_000)?;
    let limit = table.limit("copying that context", || black_box(&made).clone());
    table.row(
        "context of a frame, 4,000 tokens",
        Goal::Within(Duration::from_millis(5)),
        None,
        limit,
        || assemble_context(black_box(&tree), &id, 4_000),
    );
    Ok(())
}

/// A run with many findings, from its events to what a person sees.
fn reports(table: &mut Table) -> Result<(), Box<dyn Error>> {
    for (findings, steps, within_ms) in [(100, 10, 5), (100_000, 1_000, 500)] {
        let (run, events) = run_with(findings, steps)?;
        let now = Timestamp::UNIX_EPOCH;
        let make = || Report::of(&run, events.iter().map(|(seq, event)| (*seq, now, event)), 0, now);
        let report = make();
        if report.findings.len() != findings {
            return Err(format!("{} findings in a report of {findings}", report.findings.len()).into());
        }
        let goal = Goal::Within(Duration::from_millis(within_ms));
        let style = Style::default();
        let text = report.text(Format::Detailed, style);
        let limit = table.limit(&format!("copying a report of {}", number(findings as f64)), || text.clone());
        let name = |what: &str| format!("report of {} findings, {what}", number(findings as f64));
        table.row(&name("summary"), goal, None, limit, || make().text(Format::Summary, style));
        table.row(&name("detailed"), goal, None, limit, || make().text(Format::Detailed, style));
        table.row(&name("HTML"), goal, None, limit, || make().html());
        table.row(&name("JSON"), goal, None, limit, || serde_json::to_string(&make().json()));
    }
    Ok(())
}

type Numbered = Vec<(u64, RunEvent)>;

/// A run whose steps have so many findings together, one in ten with a fix.
fn run_with(findings: usize, steps: usize) -> Result<(Run, Numbered), Box<dyn Error>> {
    let now = Timestamp::UNIX_EPOCH;
    let task = |number: usize| Task {
        id: format!("build:step-{number}"),
        name: format!("step-{number}"),
        kind: StepOrHook::Step,
        timing: None,
        description: None,
        action: Action::Shell("true".to_owned()),
        arguments: IndexMap::new(),
        env: IndexMap::new(),
        working_directory: None,
        timeout: None,
        idle_timeout: None,
        requires: Vec::new(),
        handling: Handling::default(),
    };
    let phase = PlannedPhase {
        name: "build".to_owned(),
        enabled: true,
        description: None,
        max_retries: 0,
        tasks: (0..steps).map(task).collect(),
    };
    let mut policy = Policy::builtin(Scope::Workflow);
    policy.tolerance.warning = Tolerance::High.into();
    policy.limits.max_total_warnings = None;
    let definition = Definition {
        plan: Plan {
            workflow: "bench".to_owned(),
            description: None,
            agent: None,
            agent_spec: None,
            secrets: Vec::new(),
            requires: Vec::new(),
            phases: vec![phase],
        },
        policy,
        target: Some("feat/bench".to_owned()),
        work_id: Some("5".to_owned()),
        values: IndexMap::new(),
        directory: "/".to_owned(),
        only: Vec::new(),
        job: None,
    };
    let created = RunEvent::RunCreated {
        workflow: "bench".to_owned(),
        target: None,
        work_id: None,
        definition: Digest::of(b""),
        rerun_of: None,
        by: "bench".to_owned(),
    };
    let (mut run, applied) = Run::create(RunId::new("bench"), Arc::new(definition), created, now);
    let mut events = applied.events;
    events.extend(run.apply(RunCommand::Start, now)?.events);
    let warning = |number: usize| {
        let fix = json!({"description": "Mend it", "command": format!("sed -i s/{number}/x/ src/lib.rs")});
        let fix = if number.is_multiple_of(10) { fix } else { Value::Null };
        json!({"text": format!("{} ({number})", text(number)), "suggested_fix": fix})
    };
    for step in 0..steps {
        let each = findings / steps;
        let warnings: Vec<Value> = (step * each..(step + 1) * each).map(warning).collect();
        let response = json!({"warnings": warnings, "warning_analysis": "Seen before", "message": "Done"});
        let finished = Finished {
            start: run.state.starts,
            responses: vec![("id".to_owned(), Response::normalise(&response, Classifier::builtin()))],
            started_at: now,
            duration_ms: 1,
            exit_code: Some(0),
            output: None,
            work: None,
        };
        events.extend(run.apply(RunCommand::Finish(finished), now)?.events);
    }
    Ok((run, (1..).zip(events).collect()))
}

/// The whole program for one decision.
fn process(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let request = json!({
        "scope": "workflow",
        "autonomy": {"warning_tolerance": "low"},
        "boundary": {"kind": "step", "phase": "build"},
        "response": {"status": "warning", "warnings": ["Deprecated API"]},
    });
    let request = request.to_string();
    let limit = table.processes("starting `true`", Goal::None, None, Command::new("true"), "")?;
    let Some(program) = std::env::var_os("CHECKREIN_BIN") else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(["policy", "decide", "--json"]);
    let goal = Goal::Within(Duration::from_millis(10));
    table.processes("checkrein policy decide", goal, Some(limit), command, &request)?;
    Ok(())
}

/// Texts as agents write them: some with telling words, some with none, one of them grave.
const TEXTS: [&str; 10] = [
    "The helper parse_date is deprecated and will be gone in the next major version..",
    "Unused import in src/lib.rs, line 14; the formatter would have removed it for us",
    "This query is slow on large tables, consider an index on the column customer_id.",
    "Minor: the name of this variable does not follow the convention of the codebase.",
    "The field email is required by the schema, yet the form lets it pass when empty.",
    "Two tests were skipped because the database was not reachable from this machine.",
    "Security: the token is written to the log in clear text when debug mode is on!!!",
    "The config file has a setting nobody reads any more; it can be taken out safely.",
    "Copying the buffer twice costs memory, which should not matter below 10 MB a day",
    "Everything was built, nothing had to be changed, and the artefacts were kept....",
];

fn text(number: usize) -> &'static str {
    TEXTS.iter().copied().cycle().nth(number % TEXTS.len()).unwrap_or_default()
}

fn ten_warnings() -> Value {
    json!({"status": "warning", "warnings": TEXTS})
}

fn expect(name: &str, decision: &Decision<'_>, outcome: Outcome) -> Result<(), String> {
    if decision.outcome == outcome { Ok(()) } else { Err(format!("{name}: {} instead", decision.outcome)) }
}

#[derive(Clone, Copy)]
enum Goal {
    None,
    PerSecond(u64),
    Within(Duration),
}

#[derive(Clone, Copy)]
struct Time {
    best_ns: f64,
    median_ns: f64,
}

impl Time {
    fn of(mut samples_ns: Vec<f64>) -> Time {
        samples_ns.sort_by(f64::total_cmp);
        let at = |index: usize| samples_ns.get(index).copied().unwrap_or(f64::NAN);
        Time { best_ns: at(0), median_ns: at(samples_ns.len() / 2) }
    }
}

const ROUNDS: usize = 21;
const ROUND: Duration = Duration::from_millis(40);
const PROCESSES: usize = 200;

/// Calls `work` in rounds of equal size; each round is one sample.
fn time<T>(mut work: impl FnMut() -> T) -> Time {
    let mut round = |calls: u64| {
        let began = Instant::now();
        for _ in 0..calls {
            black_box(work());
        }
        began.elapsed()
    };
    let mut calls = 1;
    while round(calls) < ROUND / 4 {
        calls *= 2;
    }
    let calls = calls * 4;
    Time::of((0..ROUNDS).map(|_| round(calls).as_nanos() as f64 / calls as f64).collect())
}

#[derive(Default)]
struct Table {
    rows: Vec<[String; 8]>,
    missed: Vec<String>,
}

impl Table {
    /// What the machine can do at best: a row without a goal that others are compared with.
    fn limit<T>(&mut self, name: &str, work: impl FnMut() -> T) -> Time {
        let time = time(work);
        self.add(name, time, Goal::None, None, None);
        time
    }

    fn row<T>(
        &mut self,
        name: &str,
        goal: Goal,
        allocations_max: Option<u64>,
        limit: Time,
        mut work: impl FnMut() -> T,
    ) {
        black_box(work());
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        black_box(work());
        let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
        if allocations_max.is_some_and(|most| allocations > most) {
            self.missed.push(format!("{name}: {allocations} allocations"));
        }
        let time = time(work);
        self.add(name, time, goal, Some(limit), Some(allocations));
    }

    /// Starts `command` many times; each start is one sample.
    fn processes(
        &mut self,
        name: &str,
        goal: Goal,
        limit: Option<Time>,
        mut command: Command,
        input: &str,
    ) -> Result<Time, Box<dyn Error>> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut samples_ns = Vec::with_capacity(PROCESSES);
        let mut answered = true;
        for _ in 0..PROCESSES {
            let began = Instant::now();
            let mut child = command.spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                // A program that does not read its input closes it early, which is its business.
                let _ = stdin.write_all(input.as_bytes());
            }
            let output = child.wait_with_output()?;
            samples_ns.push(began.elapsed().as_nanos() as f64);
            answered &= input.is_empty() || serde_json::from_slice::<Value>(&output.stdout).is_ok();
        }
        if !answered {
            self.missed.push(format!("{name}: no JSON answer"));
        }
        let time = Time::of(samples_ns);
        self.add(name, time, goal, limit, None);
        Ok(time)
    }

    fn add(&mut self, name: &str, time: Time, goal: Goal, limit: Option<Time>, allocations: Option<u64>) {
        let (goal, met) = match goal {
            Goal::None => (String::new(), None),
            Goal::PerSecond(rate) => {
                (format!("≥ {}/s", number(rate as f64)), Some(1e9 / time.median_ns >= rate as f64))
            }
            Goal::Within(most) => {
                (format!("≤ {} ms", most.as_millis()), Some(time.median_ns <= most.as_nanos() as f64))
            }
        };
        if met == Some(false) {
            self.missed.push(format!("{name}: {goal}"));
        }
        self.rows.push([
            name.to_owned(),
            number(1e9 / time.median_ns),
            number(time.best_ns),
            number(time.median_ns),
            goal,
            met.map_or("", |met| if met { "yes" } else { "NO" }).to_owned(),
            limit.map_or(String::new(), |limit| format!("{:.1}×", time.median_ns / limit.median_ns)),
            allocations.map_or(String::new(), |count| count.to_string()),
        ]);
    }

    fn print(&self) {
        let head = ["", "per second", "best ns", "median ns", "goal", "met", "of the limit", "allocations"]
            .map(str::to_owned);
        let rule = ["---", "--:", "--:", "--:", "--:", "---", "--:", "--:"].map(str::to_owned);
        let rows: Vec<&[String; 8]> = [&head, &rule].into_iter().chain(&self.rows).collect();
        let widths: [usize; 8] = std::array::from_fn(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        });
        for row in rows {
            let cells: Vec<String> =
                row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            println!("| {} |", cells.join(" | "));
        }
        for missed in &self.missed {
            println!("missed: {missed}");
        }
    }
}

/// Three digits that count, thousands apart.
fn number(value: f64) -> String {
    if value < 100.0 {
        return format!("{value:.1}");
    }
    let digits = (value.log10().floor() as i32 - 2).max(0);
    let rounded = (value / 10f64.powi(digits)).round() * 10f64.powi(digits);
    let text = format!("{rounded:.0}");
    let mut out = String::new();
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
