use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::checkpoint::Verdict;
use crate::classify::Classifier;
use crate::config::env;
use crate::decision::{Handling, StepOrHook};
use crate::deliverable::Digest;
use crate::plan::{Action, PlannedPhase, Task, Timing};
use crate::policy::{LayerRank, Resolution, Scope};
use crate::response::Response;

/// `build: a b | evaluate: +lint c` becomes two phases; `+` is a hook before, `-x` a disabled phase.
pub(crate) fn plan(text: &str) -> Plan {
    let phase = |text: &str| {
        let (name, tasks) = text.split_once(':').unwrap();
        let name = name.trim();
        let (enabled, name) = (!name.starts_with('-'), name.trim_start_matches('-'));
        let task = |word: &str| {
            let hook = word.starts_with('+');
            let word = word.trim_start_matches('+');
            Task {
                id: if hook { format!("hook:pre-{name}-{word}") } else { format!("{name}:{word}") },
                name: word.to_owned(),
                kind: if hook { StepOrHook::Hook } else { StepOrHook::Step },
                timing: hook.then_some(Timing::Pre),
                description: None,
                action: Action::Shell("true".to_owned()),
                arguments: IndexMap::new(),
                env: IndexMap::new(),
                working_directory: None,
                timeout: None,
                idle_timeout: None,
                requires: Vec::new(),
                handling: Handling::default(),
            }
        };
        PlannedPhase {
            name: name.to_owned(),
            enabled,
            description: None,
            max_retries: if name == "evaluate" { 2 } else { 0 },
            tasks: tasks.split_whitespace().map(task).collect(),
        }
    };
    Plan {
        workflow: "w".to_owned(),
        description: None,
        agent: None,
        agent_spec: None,
        secrets: Vec::new(),
        requires: Vec::new(),
        phases: text.split('|').map(phase).collect(),
    }
}

pub(crate) fn definition(plan: Plan, autonomy: &str) -> Arc<Definition> {
    let layer = env::layer(LayerRank::Start, "test", autonomy).unwrap();
    let policy =
        Resolution::resolve(Scope::Workflow, [&layer], Classifier::builtin(), crate::policy::Reading::Strict)
            .unwrap()
            .policy;
    Arc::new(Definition {
        plan,
        policy,
        target: None,
        work_id: None,
        values: IndexMap::new(),
        directory: "/".to_owned(),
        only: Vec::new(),
        job: None,
    })
}

pub(crate) fn created(definition: &Arc<Definition>) -> (Run, Applied) {
    let event = RunEvent::RunCreated {
        workflow: "w".to_owned(),
        target: None,
        work_id: None,
        definition: Digest::of(b""),
        rerun_of: None,
        by: "ann".to_owned(),
    };
    Run::create(RunId::new("r"), Arc::clone(definition), event, Timestamp::UNIX_EPOCH)
}

pub(crate) fn finished(run: &Run, responses: &[Value]) -> Command {
    let responses = responses.iter().flat_map(|value| Response::attempts(value, Classifier::builtin()));
    Command::Finish(Finished {
        start: run.state.under_way.as_ref().map_or(0, |under_way| under_way.start),
        responses: responses.map(|response| ("id".to_owned(), response)).collect(),
        started_at: Timestamp::UNIX_EPOCH,
        duration_ms: 1,
        exit_code: Some(0),
        output: None,
        work: None,
    })
}

/// One word or two per event.
fn word(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::RunCreated { .. } | RunEvent::RunStarted | RunEvent::Decided(_) => return None,
        RunEvent::PhaseSkipped { phase, status } => format!("{phase}:{status:?}").to_lowercase(),
        RunEvent::PhaseStarted { phase } => format!("{phase}("),
        RunEvent::AttemptStarted { .. } => return None,
        RunEvent::AttemptFinished(attempt) => {
            let judged = if attempt.judged { "" } else { "~" };
            format!("{judged}{}#{}", attempt.name, attempt.attempt)
        }
        RunEvent::AttemptInterrupted { why, .. } => format!("{why:?}").to_lowercase(),
        RunEvent::CheckedIn { warnings, errors, .. } => format!("shown:{warnings}w{errors}e"),
        RunEvent::RunHeld { kind, round, .. } => format!("{}?{round}", kind.name()),
        RunEvent::HoldReleased { .. } => "yes".to_owned(),
        RunEvent::HoldRejected { .. } => "no".to_owned(),
        RunEvent::LoopedBack { to, retry, .. } => format!("back-to-{to}:{retry}"),
        RunEvent::PhaseEnded { status, .. } => format!("):{status:?}").to_lowercase(),
        RunEvent::RemedyChosen(chosen) => chosen.choice.name().to_owned(),
        RunEvent::RunPaused { .. } => "paused".to_owned(),
        RunEvent::RunResumed { .. } => "resumed".to_owned(),
        RunEvent::RunCancelled { .. } => "cancelled".to_owned(),
        RunEvent::RunEnded { status, rule, .. } => {
            let rule = rule.map(|rule| format!(" by {rule}")).unwrap_or_default();
            format!("{status}{rule}")
        }
        other => panic!("{other:?} is a job's"),
    })
}

/// Drives a run: each task returns its responses in turn, `{}` when they are used up; `script` says
/// what is done whenever the run waits: `y`, `n`, `resume`, `pause` (before the next attempt ends). A plan
/// that ends with `@ a b` selects these phases alone.
fn drive(plan_text: &str, autonomy: &str, responses: Value, script: &[&str]) -> String {
    let (plan_text, only) = plan_text.split_once('@').unwrap_or((plan_text, ""));
    let mut definition = Arc::unwrap_or_clone(definition(plan(plan_text), autonomy));
    definition.only = only.split_whitespace().map(str::to_owned).collect();
    let definition = Arc::new(definition);
    let (mut run, _) = created(&definition);
    let mut left: HashMap<String, Vec<Value>> = HashMap::new();
    for (name, list) in responses.as_object().unwrap() {
        left.insert(name.clone(), list.as_array().unwrap().iter().rev().cloned().collect());
    }
    let mut script = script.iter();
    let mut words = Vec::new();
    let mut command = Command::Start;
    loop {
        let applied = run.apply(command, Timestamp::UNIX_EPOCH).unwrap();
        words.extend(applied.events.iter().filter_map(word));
        command = if let Some((_, task)) = run.task_under_way() {
            let response = left.get_mut(&task.name).and_then(Vec::pop).unwrap_or_else(|| json!({}));
            match response.as_str() {
                Some("pause") => Command::Pause { by: "ann".to_owned() },
                Some(stalls @ ("outage" | "no key")) => Command::Stall {
                    start: run.state.starts,
                    reason: stalls.to_owned(),
                    outage: stalls == "outage",
                },
                Some("lose") => Command::Lose { start: run.state.starts },
                _ => finished(&run, &[response]),
            }
        } else {
            let hold = run.state.hold.as_ref().map_or(0, |hold| hold.number);
            let verdict = |verdict| Command::Answer {
                hold,
                verdict,
                by: "ann".to_owned(),
                reason: None,
                start_over: false,
            };
            match script.next() {
                None => return words.join(" "),
                Some(&"y") => verdict(Verdict::Approve),
                Some(&"n") => verdict(Verdict::Reject),
                Some(&"resume") => Command::Resume { by: "ann".to_owned() },
                Some(&"cancel") => Command::Cancel { by: "ann".to_owned(), reason: None },
                Some(other) => panic!("{other}"),
            }
        };
    }
}

/// Name, plan, policy, responses, script, what happens.
type Row<'r> = (&'r str, &'r str, &'r str, Value, &'r [&'r str], &'r str);

#[test]
fn a_run_goes_on_until_it_must_not() {
    let low = json!({"warnings": [{"text": "w", "severity": "low"}]});
    let medium = json!({"warnings": [{"text": "w", "severity": "medium"}]});
    let error = json!({"errors": [{"text": "e", "severity": "high"}]});
    let default = "{}";
    let per_step = r#"{"check_in_frequency": "per-step"}"#;
    let end_only = r#"{"check_in_frequency": "end-only"}"#;
    let gated = r#"{"require_approval_for": ["b"], "check_in_frequency": "end-only"}"#;
    let two = r#"{"check_in_frequency": "end-only", "limits": {"max_total_warnings": 2}}"#;
    let rows: &[Row] = &[
        (
            "clean",
            "a: x y | b: z",
            default,
            json!({}),
            &[],
            "a( x#1 y#1 ):success shown:0w0e b( z#1 ):success shown:0w0e completed",
        ),
        (
            "disabled phase",
            "a: x | -b: y | c: z",
            default,
            json!({}),
            &[],
            "a( x#1 ):success shown:0w0e b:skipped c( z#1 ):success shown:0w0e completed",
        ),
        (
            "a finding is asked about at the phase's end",
            "a: x | b: z",
            default,
            json!({"x": [low]}),
            &["y"],
            "a( x#1 ):warning check_in?1 yes b( z#1 ):success shown:0w0e completed_with_warnings",
        ),
        (
            "no is a pause, and asked again",
            "a: x | b: z",
            default,
            json!({"x": [low]}),
            &["n", "resume", "y"],
            "a( x#1 ):warning check_in?1 no paused resumed check_in?2 yes b( z#1 ):success shown:0w0e completed_with_warnings",
        ),
        (
            "per-step asks where there are findings",
            "a: x y z",
            per_step,
            json!({"y": [low]}),
            &["y"],
            "a( x#1 shown:0w0e y#1 check_in?1 yes z#1 shown:0w0e ):warning completed_with_warnings",
        ),
        (
            "end-only",
            "a: x | b: y",
            end_only,
            json!({"x": [low]}),
            &["y"],
            "a( x#1 ):warning b( y#1 ):success check_in?1 yes completed_with_warnings",
        ),
        (
            "over tolerance stops, and the step is made again",
            "a: x y",
            default,
            json!({"x": [medium]}),
            &["resume"],
            "a( x#1 failed by tolerance.warning resumed x#2 y#1 ):warning check_in?1",
        ),
        (
            "a limit stops, and the step is done",
            "a: x y z",
            two,
            json!({"x": [low], "y": [low]}),
            &["resume", "y"],
            "a( x#1 y#1 failed by limit.warnings resumed z#1 ):warning check_in?1 yes completed_with_warnings",
        ),
        (
            "errors in evaluate go back to build",
            "build: x | evaluate: t",
            end_only,
            json!({"t": [error]}),
            &["y"],
            "build( x#1 ):success evaluate( t#1 back-to-build:1 build( x#2 ):success evaluate( t#2 ):warning check_in?1 yes completed_with_warnings",
        ),
        (
            "retries end",
            "build: x | evaluate: t",
            end_only,
            json!({"t": [error, error, error]}),
            &[],
            "build( x#1 ):success evaluate( t#1 back-to-build:1 build( x#2 ):success evaluate( t#2 back-to-build:2 build( x#3 ):success evaluate( t#3 failed by tolerance.error",
        ),
        (
            "no build to go back to",
            "a: x | evaluate: t",
            end_only,
            json!({"t": [error]}),
            &[],
            "a( x#1 ):success evaluate( t#1 failed by tolerance.error",
        ),
        (
            "a run never goes forward to build",
            "evaluate: t | review: r | build: x",
            r#"{"require_approval_for": ["review"], "check_in_frequency": "end-only"}"#,
            json!({"t": [error]}),
            &[],
            "evaluate( t#1 failed by tolerance.error",
        ),
        (
            "a resumed one does not either",
            "evaluate: t | review: r | build: x",
            end_only,
            json!({"t": [error, error]}),
            &["resume"],
            "evaluate( t#1 failed by tolerance.error resumed t#2 failed by tolerance.error",
        ),
        (
            "a build that is disabled is not gone back to",
            "-build: x | evaluate: t",
            end_only,
            json!({"t": [error]}),
            &[],
            "build:skipped evaluate( t#1 failed by tolerance.error",
        ),
        (
            "a build that was not selected is not gone back to",
            "build: x | evaluate: t @ evaluate",
            end_only,
            json!({"t": [error]}),
            &[],
            "build:notrun evaluate( t#1 failed by tolerance.error",
        ),
        (
            "a build that was selected is",
            "frame: f | build: x | evaluate: t @ evaluate build",
            end_only,
            json!({"t": [error]}),
            &["y"],
            "frame:notrun build( x#1 ):success evaluate( t#1 back-to-build:1 build( x#2 ):success evaluate( t#2 ):warning check_in?1 yes completed_with_warnings",
        ),
        (
            "a build whose steps are all skipped is entered again",
            "build: | evaluate: t",
            end_only,
            json!({"t": [error]}),
            &["y"],
            "build( ):success evaluate( t#1 back-to-build:1 build( ):success evaluate( t#2 ):warning check_in?1 yes completed_with_warnings",
        ),
        (
            "gates on the way back ask again",
            "build: x | review: r | evaluate: t",
            r#"{"require_approval_for": ["build", "review"], "check_in_frequency": "end-only"}"#,
            json!({"t": [error]}),
            &["y", "y", "y", "n", "resume", "y"],
            "gate?1 yes build( x#1 ):success gate?1 yes review( r#1 ):success evaluate( t#1 back-to-build:1 gate?1 yes build( x#2 ):success gate?1 no paused resumed gate?2 yes review( r#2 ):success evaluate( t#2 ):warning check_in?1",
        ),
        (
            "a gate is asked before its phase",
            "a: x | b: y",
            gated,
            json!({}),
            &["y"],
            "a( x#1 ):success gate?1 yes b( y#1 ):success shown:0w0e completed",
        ),
        (
            "a gate that said no asks again",
            "a: x | b: y",
            gated,
            json!({}),
            &["n", "resume", "n", "resume", "y"],
            "a( x#1 ):success gate?1 no paused resumed gate?2 no paused resumed gate?3 yes b( y#1 ):success shown:0w0e completed",
        ),
        (
            "several attempts",
            "a: x",
            end_only,
            json!({"x": [{"attempts": [error, low]}]}),
            &["y"],
            "a( ~x#1 x#2 ):warning check_in?1 yes completed_with_warnings",
        ),
        (
            "a hook has one attempt",
            "a: +h x",
            end_only,
            json!({"h": [error]}),
            &["resume", "y"],
            "a( h#1 failed by tolerance.error resumed h#1 x#1 ):warning check_in?1 yes completed_with_warnings",
        ),
        (
            "hooks fire no per-step check-in",
            "a: +h x",
            per_step,
            json!({"h": [low]}),
            &["y"],
            "a( h#1 x#1 check_in?1 yes ):warning completed_with_warnings",
        ),
        (
            "paused and resumed",
            "a: x y",
            end_only,
            json!({"y": ["pause"]}),
            &["resume"],
            "a( x#1 paused paused resumed y#1 ):success shown:0w0e completed",
        ),
        (
            "the model of a step's agent is away, then its key is missing",
            "a: x y",
            end_only,
            json!({"y": ["no key", "outage"]}),
            &["resume", "resume"],
            "a( x#1 paused paused resumed paused paused resumed y#1 ):success shown:0w0e completed",
        ),
        (
            "lost and repeated",
            "a: x y",
            end_only,
            json!({"y": ["lose"]}),
            &[],
            "a( x#1 lost y#1 ):success shown:0w0e completed",
        ),
        (
            "cancelled while held",
            "a: x",
            default,
            json!({"x": [low]}),
            &["cancel"],
            "a( x#1 ):warning check_in?1 cancelled",
        ),
        ("nothing to do", "-a: x", default, json!({}), &[], "a:skipped completed"),
    ];
    for (name, plan, autonomy, responses, script, expected) in rows {
        assert_eq!(drive(plan, autonomy, responses.clone(), script), *expected, "{name}");
    }
}

#[test]
fn the_end_has_a_report_in_numbers() {
    let definition = definition(plan("a: x y | b: z"), r#"{"check_in_frequency": "end-only"}"#);
    let (mut run, _) = created(&definition);
    run.apply(Command::Start, Timestamp::UNIX_EPOCH).unwrap();
    let low = json!({"warnings": [{"text": "w", "severity": "low"}]});
    run.apply(finished(&run, &[low]), Timestamp::UNIX_EPOCH).unwrap();
    let failed = json!({"errors": [{"text": "e", "severity": "low"}]});
    let applied = run.apply(finished(&run, &[failed]), Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(applied.effects, [Effect::Summarise]);
    assert_eq!(run.state.status, RunStatus::Failed);
    assert_eq!(run.state.stopped.as_ref().unwrap().reason, "Error exceeds tolerance: e");
    let a = &run.state.phases[0];
    assert_eq!((a.status, a.steps_done, a.warnings, a.errors), (PhaseStatus::Failure, 1, 1, 1));
    assert_eq!(run.state.phases[1].status, PhaseStatus::NotRun);
}

/// Per step it is the step that is asked about, at the hold and in its reason alike.
#[test]
fn a_check_in_names_what_is_complete_or_begins() {
    for (asks, expected) in [
        (r#""check_in_frequency": "per-step""#, "Check-in: migrate:copy complete. Continue?"),
        (r#""check_in_frequency": "per-phase""#, "Check-in: migrate complete. Continue?"),
        (r#""check_in_frequency": "end-only""#, "Check-in: workflow complete. Continue?"),
        (r#""hold_at": [{"on": "phase_entry"}]"#, "Check-in: migrate begins. Continue?"),
        (r#""hold_at": [{"on": "hook"}]"#, "Check-in: hook:pre-migrate-h complete. Continue?"),
        (r#""hold_at": [{"on": "*"}]"#, "Check-in: migrate begins. Continue?"),
    ] {
        let autonomy = format!(r#"{{{asks}, "ask": "always"}}"#);
        let (mut run, _) = created(&definition(plan("migrate: +h copy"), &autonomy));
        run.apply(Command::Start, Timestamp::UNIX_EPOCH).unwrap();
        while run.state.hold.is_none() {
            run.apply(finished(&run, &[json!({})]), Timestamp::UNIX_EPOCH).unwrap();
        }
        let hold = run.state.hold.as_ref().unwrap();
        assert_eq!((hold.question().as_str(), hold.reason.as_str()), (expected, expected), "{asks}");
    }
}

#[test]
fn stale_commands_change_nothing() {
    let definition = definition(plan("a: x"), r#"{"check_in_frequency": "per-step", "ask": "always"}"#);
    let (mut run, _) = created(&definition);
    let answer =
        |hold, verdict| Command::Answer { hold, verdict, by: "ann".into(), reason: None, start_over: false };
    let refused = |run: &mut Run, command: Command| {
        let before = run.clone();
        let refusal = run.apply(command, Timestamp::UNIX_EPOCH).unwrap_err().to_string();
        assert_eq!(*run, before);
        refusal
    };
    assert_eq!(
        refused(&mut run, Command::Resume { by: "a".into() }),
        "run `r` is created: it cannot be resumed"
    );
    run.apply(Command::Start, Timestamp::UNIX_EPOCH).unwrap();
    let done = finished(&run, &[json!({})]);
    assert_eq!(refused(&mut run, Command::Lose { start: 7 }), "run `r` has no attempt 7 under way");
    let Command::Finish(silent) = done.clone() else { panic!() };
    let silent = Command::Finish(Finished { responses: Vec::new(), ..silent });
    assert_eq!(refused(&mut run, silent), "an attempt ends with at least one response");
    run.apply(done.clone(), Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(refused(&mut run, done), "run `r` is held: it cannot be finished");
    assert_eq!(
        refused(&mut run, answer(2, Verdict::Approve)),
        "run `r` does not wait for an answer to its question 2"
    );
    assert_eq!(
        refused(&mut run, answer(1, Verdict::RequestChanges)),
        "a check_in is approved or rejected; there is nothing to change in it"
    );
    run.apply(answer(1, Verdict::Approve), Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(run.state.status, RunStatus::Completed);
    assert_eq!(
        refused(&mut run, Command::Resume { by: "a".into() }),
        "run `r` is completed: it cannot be resumed"
    );
}

/// A step that requires something is begun by somebody who has it, and not before.
#[test]
fn a_step_that_requires_something_waits_for_whoever_has_it() {
    let now = Timestamp::UNIX_EPOCH;
    let mut plan = plan("build: a b c");
    plan.requires = vec!["linux".parse().unwrap()];
    plan.phases[0].tasks[1].requires = vec!["gpu".parse().unwrap()];
    let (mut run, _) = created(&definition(plan, "{}"));
    let required = |run: &Run| run.requires().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(required(&run), ["linux"]);
    run.apply(Command::Start, now).unwrap();
    assert_eq!((run.due(), required(&run)), (Some(Effect::Attempt { start: 1 }), vec!["linux".to_owned()]));
    let applied = run.apply(finished(&run, &[serde_json::json!({})]), now).unwrap();
    assert_eq!(applied.effects, [Effect::Begin]);
    assert_eq!((run.state.status, run.state.under_way.is_some()), (RunStatus::Running, false));
    assert_eq!(required(&run), ["gpu", "linux"]);
    // It is nothing that could be finished or lost.
    assert!(run.clone().apply(Command::Lose { start: 1 }, now).is_err());
    assert_eq!(run.apply(Command::Begin, now).unwrap().effects, [Effect::Attempt { start: 2 }]);
    assert!(run.clone().apply(Command::Begin, now).is_err(), "it is begun once");
    // One that was lost goes to whoever has it, too.
    assert_eq!(
        run.apply(Command::Lose { start: 2 }, now).unwrap().effects,
        [Effect::End { start: 2 }, Effect::Begin]
    );
    run.apply(Command::Begin, now).unwrap();
    run.apply(finished(&run, &[serde_json::json!({})]), now).unwrap();
    // What comes after it is anybody's again.
    assert_eq!((run.due(), required(&run)), (Some(Effect::Attempt { start: 4 }), vec!["linux".to_owned()]));
}

#[test]
fn an_outage_is_tried_again_later_and_later_until_the_step_has_a_result() {
    let definition = definition(plan("a: x y"), "{}");
    let (mut run, _) = created(&definition);
    let stall = |run: &Run, outage| Command::Stall { start: run.state.starts, reason: "away".into(), outage };
    let resume = |by: &str| Command::Resume { by: by.to_owned() };
    run.apply(Command::Start, Timestamp::UNIX_EPOCH).unwrap();
    let mut waits = Vec::new();
    let steps = [(true, RETRIER), (true, RETRIER), (true, "ann"), (true, RETRIER), (false, RETRIER)];
    for (outage, resumed_by) in steps {
        let command = stall(&run, outage);
        run.apply(command, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(run.state.status, RunStatus::Paused);
        waits.push(run.state.retry_at.map(|at| at.as_second()));
        run.apply(resume(resumed_by), Timestamp::UNIX_EPOCH).unwrap();
    }
    assert_eq!(waits, [Some(30), Some(60), Some(120), Some(30), None]);
    let done = finished(&run, &[json!({})]);
    run.apply(done, Timestamp::UNIX_EPOCH).unwrap();
    let stale = Command::Stall { start: 1, reason: "away".into(), outage: true };
    assert!(matches!(run.clone().apply(stale, Timestamp::UNIX_EPOCH), Err(Refusal::StaleAttempt { .. })));
    let command = stall(&run, true);
    run.apply(command, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(run.state.retry_at.map(|at| at.as_second()), Some(30));
}
