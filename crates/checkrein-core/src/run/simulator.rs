//! Random runs under random commands, with crashes, from one seed; after every step the invariants
//! hold. A failure names its seed, and `CHECKREIN_SIMULATOR_SEED` plays it again.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::tests::{created, definition, finished, plan};
use super::*;
use crate::checkpoint::Verdict;
use crate::decision::StepOrHook;

/// Splitmix64: small, and the same everywhere.
pub(super) struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    pub fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[usize::try_from(self.roll(from.len() as u64)).unwrap()]
    }
}

fn some_plan(dice: &mut Dice) -> Plan {
    let names = ["frame", "build", "evaluate", "release", "more"];
    let phases: Vec<String> = names[..1 + usize::try_from(dice.roll(5)).unwrap()]
        .iter()
        .map(|name| {
            let off = if dice.one_in(6) { "-" } else { "" };
            let tasks: Vec<String> =
                (0..dice.roll(4)).map(|n| format!("{}t{n}", if dice.one_in(4) { "+" } else { "" })).collect();
            format!("{off}{name}: {}", tasks.join(" "))
        })
        .collect();
    plan(&phases.join("|"))
}

fn some_policy(dice: &mut Dice) -> String {
    let tolerance = ["none", "low", "medium", "high"];
    let mut policy = json!({
        "check_in_frequency": dice.pick(&["per-step", "per-phase", "end-only"]),
        "warning_tolerance": dice.pick(&tolerance),
        "error_tolerance": dice.pick(&tolerance),
        "ask": dice.pick(&["always", "when_findings"]),
        "limits": {
            "max_total_warnings": 1 + dice.roll(20),
            "max_total_errors": 1 + dice.roll(20),
            "on_limit_reached": dice.pick(&["stop", "truncate"]),
        },
    });
    if dice.one_in(2) {
        policy["require_approval_for"] = json!([dice.pick(&["build", "release", "evaluate"])]);
    }
    if dice.one_in(3) {
        policy["overrides"] =
            json!({"build": {"check_in_frequency": "per-step", "warning_tolerance": "high"}});
    }
    policy.to_string()
}

fn some_response(dice: &mut Dice) -> Value {
    let mut list = |kind: &str| -> Value {
        let count = if dice.one_in(3) { dice.roll(3) } else { 0 };
        (0..count)
            .map(
                |n| json!({"text": format!("{kind} {n}"), "severity": dice.pick(&["low", "medium", "high"])}),
            )
            .collect()
    };
    let response = json!({"warnings": list("w"), "errors": list("e")});
    if dice.one_in(10) { json!({"attempts": [{"errors": ["early"]}, response]}) } else { response }
}

fn some_command(dice: &mut Dice, run: &Run, last: Option<&Command>) -> Command {
    let by = "ann".to_owned();
    let hold = run.state.hold.as_ref().map_or(0, |hold| hold.number);
    let start = run.state.starts;
    match dice.roll(41) {
        40 => Command::Remedy(RemedyChosen {
            id: None,
            task: "build:t0".to_owned(),
            title: "fix".to_owned(),
            choice: Choice::Skipped,
            by,
            command: None,
            file: None,
            exit_code: None,
            output: None,
        }),
        0 => Command::Start,
        1 => Command::Lose { start },
        2 => Command::Lose { start: dice.roll(9) },
        3 => Command::Pause { by },
        4 | 5 => Command::Resume { by },
        6 if dice.one_in(8) => Command::Cancel { by, reason: None },
        7 => Command::Answer {
            hold: u32::try_from(dice.roll(4)).unwrap(),
            verdict: Verdict::Approve,
            by,
            reason: None,
            start_over: false,
        },
        8 => Command::Answer { hold, verdict: Verdict::RequestChanges, by, reason: None, start_over: false },
        9 => Command::Answer { hold, verdict: Verdict::Reject, by, reason: None, start_over: false },
        // The same again: an engine that did not hear the answer.
        10..=13 => last.cloned().unwrap_or(Command::Start),
        _ if run.state.status == RunStatus::Created => Command::Start,
        _ if run.state.status == RunStatus::Held => {
            Command::Answer { hold, verdict: Verdict::Approve, by, reason: None, start_over: false }
        }
        _ if run.state.under_way.is_some() => finished(run, &[some_response(dice)]),
        _ => Command::Resume { by },
    }
}

/// What must hold of any run at any time.
fn check(before: &State, run: &Run, command: &Command, applied: &Applied) {
    let state = &run.state;
    if let Command::Remedy(_) = command {
        let version = state.version;
        assert_eq!(*state, State { version, ..before.clone() }, "a remedy moves nothing");
        return;
    }
    let transition = allowed(before.status, command.kind()).expect("a command the table does not know");
    assert!(
        transition.to.contains(&state.status),
        "{} by {} to {}",
        before.status,
        command.kind(),
        state.status
    );
    assert_eq!(state.version, before.version + applied.events.len() as u64);
    assert!(!applied.events.is_empty(), "what changes nothing is refused");
    assert_eq!(
        state.status == RunStatus::Running,
        state.under_way.is_some(),
        "running is an attempt under way"
    );
    if state.status == RunStatus::Held {
        assert!(state.hold.as_ref().is_some_and(|hold| !hold.rejected));
    }
    // A held run makes no progress without a verdict.
    if before.status == RunStatus::Held && !matches!(command, Command::Answer { .. } | Command::Cancel { .. })
    {
        panic!("a held run moved by {}", command.kind());
    }
    // A no, and nothing but it, leaves a question behind.
    if state.status == RunStatus::Paused && state.hold.is_some() {
        assert!(state.hold.as_ref().is_some_and(|hold| hold.rejected));
    }
    assert!(state.starts >= before.starts && state.tally.warnings >= before.tally.warnings);
    assert!(state.starts <= before.starts + 1, "one command starts one attempt at most");
    // Effects are what the events say: a new attempt, a question, an end.
    let started = applied.events.iter().any(|event| matches!(event, RunEvent::AttemptStarted { .. }));
    let starts = applied.effects.iter().any(|effect| matches!(effect, Effect::Attempt { .. }));
    assert_eq!(started, starts, "{:?}", applied.effects);
    assert_eq!(
        run.due(),
        applied
            .effects
            .last()
            .cloned()
            .filter(|effect| { !matches!(effect, Effect::End { .. } | Effect::Withdraw { .. }) })
            .or_else(|| run.due())
    );
    // Every response is captured before anything is decided about it.
    let place = |wanted: fn(&RunEvent) -> bool| applied.events.iter().position(wanted);
    let captured = place(|event| matches!(event, RunEvent::AttemptFinished(attempt) if attempt.judged));
    let decided = place(|event| matches!(event, RunEvent::Decided(_)));
    if let (Some(captured), Some(decided)) = (captured, decided) {
        assert!(captured < decided);
    }
    if state.status.is_at_rest() && state.status != RunStatus::Cancelled {
        assert!(state.under_way.is_none());
    }
    for (row, phase) in state.phases.iter().zip(&run.definition.plan.phases) {
        let steps = phase.tasks.iter().filter(|task| task.kind == StepOrHook::Step).count();
        assert!(usize::try_from(row.steps_done).unwrap() <= steps, "{} of {steps} steps", row.steps_done);
    }
}

fn simulate(seed: u64, steps: u64) {
    let mut dice = Dice(seed);
    let mut done = 0;
    while done < steps {
        let definition = definition(some_plan(&mut dice), &some_policy(&mut dice));
        let (mut run, applied) = created(&definition);
        let mut log = applied.events;
        let mut last = None;
        let mut now = Timestamp::UNIX_EPOCH;
        for _ in 0..dice.roll(60) {
            done += 1;
            // Time does not only go forward.
            now = Timestamp::from_millisecond(i64::try_from(dice.roll(1 << 40)).unwrap()).unwrap_or(now);
            let command = some_command(&mut dice, &run, last.as_ref());
            let before = run.clone();
            match run.apply(command.clone(), now) {
                Err(_) => assert_eq!(run, before, "a refusal changes nothing"),
                // The engine died before the commit: nothing happened.
                Ok(_) if dice.one_in(12) => run = before,
                Ok(applied) => {
                    check(&before.state, &run, &command, &applied);
                    // Folding what is stored gives the same run again.
                    let mut told = before;
                    for event in &applied.events {
                        let stored = serde_json::to_string(event).unwrap();
                        told.fold(&serde_json::from_str(&stored).unwrap(), now);
                    }
                    assert_eq!(told, run);
                    log.extend(applied.events);
                    last = Some(command);
                }
            }
            // The engine died after the commit: another one goes on from what is stored.
            if dice.one_in(8) {
                let stored = serde_json::to_string(&run.state).unwrap();
                let state: State = serde_json::from_str(&stored).unwrap();
                assert_eq!(state, run.state);
                run = Run { id: run.id, definition: Arc::clone(&definition), state };
            }
        }
        assert_eq!(log.len() as u64, run.state.version);
        one_attempt_at_a_time(&log);
    }
}

/// No second attempt starts before the one before it has ended, and attempts are counted on.
pub(super) fn one_attempt_at_a_time(log: &[RunEvent]) {
    let mut alive = None;
    let mut finished = std::collections::HashMap::<String, u32>::new();
    for event in log {
        match event {
            RunEvent::AttemptStarted { task, attempt, .. } => {
                assert!(alive.replace(task.clone()).is_none(), "two attempts alive");
                if !task.starts_with("hook:") {
                    assert_eq!(*attempt, finished.get(task).copied().unwrap_or(0) + 1, "{task}");
                }
            }
            RunEvent::AttemptFinished(attempt) => {
                assert_eq!(alive.as_deref(), Some(attempt.task.as_str()));
                *finished.entry(attempt.task.clone()).or_default() += 1;
                if attempt.judged {
                    alive = None;
                }
            }
            RunEvent::AttemptInterrupted { .. } => alive = None,
            _ => {}
        }
    }
}

#[test]
fn every_run_keeps_the_invariants() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let steps = number("CHECKREIN_SIMULATOR_STEPS").unwrap_or(100_000);
    if let Some(seed) = number("CHECKREIN_SIMULATOR_SEED") {
        return simulate(seed, steps);
    }
    let part = 1_000;
    for seed in 0..steps.div_ceil(part) {
        let failed = std::panic::catch_unwind(|| simulate(seed, part)).is_err();
        assert!(!failed, "CHECKREIN_SIMULATOR_SEED={seed} CHECKREIN_SIMULATOR_STEPS={part} plays it again");
    }
}
