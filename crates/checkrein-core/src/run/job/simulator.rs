//! Random jobs under random commands, with crashes, from one number; after every step the invariants hold.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::simulator::{Dice, one_attempt_at_a_time};
use super::super::tests::created;
use super::super::*;
use super::tests::{job, worked};
use super::{Author, Conflict, FileMark, Landed, NewComment};
use crate::checkpoint::Verdict;

const LEVELS: [&str; 8] = [
    "full",
    "review",
    "partial",
    "guided",
    "dependent",
    r#"{"level":"custom","hold_at":[{"on":"phase","every":3}]}"#,
    r#"{"level":"full","budget":{"time":"5s"},"limits":{"max_total_warnings":6}}"#,
    r#"{"level":"review","warning_tolerance":"low"}"#,
];

fn some_result(dice: &mut Dice) -> Value {
    let mut result =
        json!({"outcome": dice.pick(&["phase_done", "phase_done", "job_complete", "blocked", "failed"])});
    if dice.one_in(2) {
        result["next_todos"] = json!(["a", "b"]);
    }
    if dice.one_in(6) {
        result["warnings"] = json!([{"text": "w", "severity": dice.pick(&["low", "high"])}]);
    }
    if dice.one_in(4) {
        result["comment_replies"] = json!([{"id": format!("c{}", dice.roll(5)), "text": "done"}]);
    }
    result
}

fn some_command(dice: &mut Dice, run: &Run, last: Option<&Command>) -> Command {
    let by = "ann".to_owned();
    let hold = run.state.hold.as_ref().map_or(0, |hold| hold.number);
    let answer =
        |verdict, start_over| Command::Answer { hold, verdict, by: "ann".into(), reason: None, start_over };
    match dice.roll(48) {
        0 => Command::Start,
        1 => Command::Lose { start: run.state.starts },
        2 => Command::Pause { by },
        3 | 4 => Command::Resume { by },
        5 if dice.one_in(8) => Command::Cancel { by, reason: None },
        6 if dice.one_in(6) => answer(Verdict::Reject, false),
        7 | 8 => answer(Verdict::RequestChanges, dice.one_in(4)),
        9 => Command::Push {
            hold,
            head: format!("pushed{}", dice.roll(9)),
            files: Vec::new(),
            files_total: 0,
            next_todos: None,
            conflict: None,
            lapsed: if dice.one_in(2) { vec!["letter".to_owned()] } else { Vec::new() },
        },
        10 | 11 => {
            let text = "shorter".to_owned();
            let reply_to = dice.one_in(3).then(|| format!("c{}", dice.roll(5)));
            Command::Comment {
                comment: NewComment { text, reply_to, ..NewComment::default() },
                by,
                author: Author::Person,
            }
        }
        12 => {
            let mark = if dice.one_in(2) { FileMark::Approved } else { FileMark::ChangesRequested };
            Command::Mark { file: "letter".into(), mark: Some(mark), by, content: Some("100644 a".into()) }
        }
        13 => Command::ChangePolicy {
            policy: Box::new(job(LEVELS[usize::try_from(dice.roll(8)).unwrap()], None).policy.clone()),
            by,
        },
        14 => Command::Begin,
        15 => Command::Land(Landed { main: "m".into(), changed: true, ..Landed::default() }),
        // The same again: an engine that did not hear the answer.
        16..=20 => last.cloned().unwrap_or(Command::Start),
        _ => match (run.state.status, run.due()) {
            (RunStatus::Created, _) => Command::Start,
            (RunStatus::Held, _) => answer(Verdict::Approve, false),
            (_, Some(Effect::Land)) if dice.one_in(10) => {
                Command::Conflict(Conflict { files: vec!["letter".into()], ..Conflict::default() })
            }
            (_, Some(Effect::Land)) if dice.one_in(10) => Command::Bar { text: "a check failed".into() },
            (_, Some(Effect::Land)) => {
                Command::Land(Landed { main: "m".into(), changed: true, ..Landed::default() })
            }
            (_, Some(Effect::Begin)) => Command::Begin,
            (_, Some(Effect::Attempt { .. })) => {
                let files: &[&str] = match dice.roll(8) {
                    0 => &[],
                    1 => &[".github/workflows/ci.yml"],
                    _ => &["letter"],
                };
                worked(run, &some_result(dice), files)
            }
            _ => Command::Resume { by },
        },
    }
}

/// What must hold of any job at any time.
fn check(before: &State, run: &Run, command: &Command, applied: &Applied) {
    let state = &run.state;
    assert_eq!(state.version, before.version + applied.events.len() as u64);
    assert!(!applied.events.is_empty(), "what changes nothing is refused");
    if matches!(command.kind(), CommandKind::Say) {
        assert_eq!((before.status, &before.hold), (state.status, &state.hold), "words move nothing");
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
    if before.status == RunStatus::Held {
        let moves = [CommandKind::Answer, CommandKind::Cancel, CommandKind::Push];
        assert!(moves.contains(&command.kind()), "a held job moved by {}", command.kind());
    }
    assert!(state.starts <= before.starts + 1, "one command starts one attempt at most");
    if state.status != RunStatus::Running {
        assert!(state.under_way.is_none(), "an attempt is under way in {}", state.status);
    }
    assert_eq!(state.status == RunStatus::Held, state.hold.is_some() && state.status != RunStatus::Cancelled);
}

/// What must hold of the whole story.
fn check_story(log: &[RunEvent]) {
    let (mut phases, mut landed, mut may_land, mut must_hold) = (0_u32, 0_u32, false, false);
    let mut complete = false;
    for event in log {
        match event {
            RunEvent::PhaseStarted { phase } => {
                phases += 1;
                assert_eq!(*phase, super::phase_name(phases), "phases are counted and alternate");
                assert_eq!(landed, phases - 1, "the phase before is merged");
                (may_land, must_hold) = (false, false);
            }
            RunEvent::PhaseWorked(work) => complete = work.result.outcome == super::AgentOutcome::JobComplete,
            RunEvent::PhasePassed { .. } => {
                assert!(!must_hold, "the round after a request for changes is always reviewed");
                may_land = true;
            }
            RunEvent::HoldReleased { .. } => may_land = true,
            RunEvent::ChangesRequested { .. } => (may_land, must_hold) = (false, true),
            RunEvent::LandingConflicted { .. } => may_land = false,
            RunEvent::Forge(news) if matches!(**news, super::ForgeNews::Barred { .. }) => may_land = false,
            RunEvent::PhaseLanded { .. } => {
                assert!(may_land, "nothing is merged that was neither approved nor passed");
                landed += 1;
                may_land = false;
            }
            RunEvent::RunEnded {
                status: RunStatus::Completed | RunStatus::CompletedWithWarnings, ..
            } => {
                assert!(complete, "a job is complete when its agent says so");
                assert_eq!(landed, phases, "everything is merged");
            }
            _ => {}
        }
    }
}

fn simulate(seed: u64, steps: u64) {
    let mut dice = Dice(seed);
    let mut done = 0;
    while done < steps {
        let own_plan = dice.one_in(8).then_some("1. write");
        let definition = job(LEVELS[usize::try_from(dice.roll(8)).unwrap()], own_plan);
        let (mut run, applied) = created(&definition);
        let mut log = applied.events;
        let mut last = None;
        for _ in 0..dice.roll(80) {
            done += 1;
            let now = Timestamp::from_millisecond(i64::try_from(dice.roll(1 << 40)).unwrap()).unwrap();
            let command = some_command(&mut dice, &run, last.as_ref());
            let before = run.clone();
            match run.apply(command.clone(), now) {
                Err(_) => assert_eq!(run, before, "a refusal changes nothing"),
                // The engine died before the commit: nothing happened.
                Ok(_) if dice.one_in(12) => run = before,
                Ok(applied) => {
                    check(&before.state, &run, &command, &applied);
                    let mut told = before;
                    for event in &applied.events {
                        let stored = serde_json::to_string(event).unwrap();
                        told.fold(&serde_json::from_str(&stored).unwrap(), now);
                    }
                    assert_eq!(told, run, "folding what is stored gives the same job");
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
        check_story(&log);
    }
}

#[test]
fn every_job_keeps_the_invariants() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let steps = number("CHECKREIN_SIMULATOR_STEPS").unwrap_or(50_000);
    if let Some(seed) = number("CHECKREIN_SIMULATOR_SEED") {
        return simulate(seed, steps);
    }
    let part = 1_000;
    for seed in 0..steps.div_ceil(part) {
        let failed = std::panic::catch_unwind(|| simulate(seed, part)).is_err();
        assert!(!failed, "CHECKREIN_SIMULATOR_SEED={seed} CHECKREIN_SIMULATOR_STEPS={part} plays it again");
    }
}
