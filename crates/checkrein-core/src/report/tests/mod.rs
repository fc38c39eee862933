//! Reports of runs that were driven through the machine, in every format.

mod across;
mod laws;
mod shapes;
mod text;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::checkpoint::Verdict;
use crate::classify::Classifier;
use crate::deliverable::Digest;
use crate::response::Response;
use crate::run::tests::{definition, plan};
use crate::run::{Command, Finished, RunId};

/// A run with its events, as an engine would have it.
pub(super) struct Driven {
    pub run: Run,
    pub events: Vec<(u64, Timestamp, RunEvent)>,
    now: Timestamp,
}

impl Driven {
    /// Each task returns its responses in turn, `{}` when they are used up, and takes `step_ms`; every
    /// question is answered with yes.
    pub fn new(plan_text: &str, autonomy: &str, responses: Value, step_ms: i64) -> Driven {
        let mut definition = Definition::clone(&definition(plan(plan_text), autonomy));
        definition.target = Some("feat/237-workflow-response-aggregation".to_owned());
        definition.work_id = Some("237".to_owned());
        let now: Timestamp = "2025-12-06T10:30:00Z".parse().unwrap();
        let created = RunEvent::RunCreated {
            workflow: "w".to_owned(),
            target: None,
            work_id: None,
            definition: Digest::of(b""),
            rerun_of: None,
            by: "ann".to_owned(),
        };
        let (run, applied) = Run::create(RunId::new("run-7"), Arc::new(definition), created, now);
        let mut driven = Driven { run, events: Vec::new(), now };
        driven.happened(applied.events);
        driven.go(Command::Start);
        let mut left: HashMap<String, Vec<Value>> = HashMap::new();
        for (name, list) in responses.as_object().unwrap() {
            left.insert(name.clone(), list.as_array().unwrap().iter().rev().cloned().collect());
        }
        loop {
            if let Some((under_way, task)) = driven.run.task_under_way() {
                let (start, id) = (under_way.start, task.id.clone());
                let value = left.get_mut(&id).and_then(Vec::pop).unwrap_or_else(|| json!({}));
                let responses = Response::attempts(&value, Classifier::builtin());
                let ids = (1..).map(|number| format!("response-{start}-{number}"));
                let started_at = driven.now;
                driven.now += SignedDuration::from_millis(step_ms);
                driven.go(Command::Finish(Finished {
                    start,
                    responses: ids.zip(responses).collect(),
                    started_at,
                    duration_ms: step_ms.unsigned_abs(),
                    exit_code: Some(0),
                    output: None,
                    work: None,
                }));
            } else if driven.run.state.status == RunStatus::Held {
                let hold = driven.run.state.hold.as_ref().unwrap().number;
                driven.go(Command::Answer {
                    hold,
                    verdict: Verdict::Approve,
                    by: "ann".into(),
                    reason: None,
                    start_over: false,
                });
            } else {
                return driven;
            }
        }
    }

    fn go(&mut self, command: Command) {
        let applied = self.run.apply(command, self.now).unwrap();
        self.happened(applied.events);
    }

    fn happened(&mut self, events: Vec<RunEvent>) {
        for event in events {
            self.events.push((self.events.len() as u64 + 1, self.now, event));
        }
    }

    pub fn report(&self) -> Report {
        let events = self.events.iter().map(|(seq, at, event)| (*seq, *at, event));
        Report::of(&self.run, events, 0, self.now)
    }
}

const LENIENT: &str = r#"{"check_in_frequency": "end-only", "warning_tolerance": "high"}"#;

fn clean() -> Report {
    let said =
        json!({"message": "Compiled 45 files", "details": {"files": 45}, "artifacts": ["dist/app.js"]});
    Driven::new(
        "frame: gather | -docs: write | build: +lint compile",
        LENIENT,
        json!({"build:compile": [said]}),
        300,
    )
    .report()
}

/// The run of the example in the specification.
fn warned() -> Report {
    let spec = json!({
        "warnings": [{"text": "Spec has incomplete acceptance criteria", "severity": "medium", "category": "validation"}],
        "warning_analysis": "Consider adding measurable success conditions",
        "suggested_fixes": [{
            "description": "Review spec acceptance criteria",
            "file": "/specs/WORK-00237-workflow-response-aggregation.md",
        }],
    });
    let implement = json!({
        "warnings": [{
            "text": "Deprecated API usage detected (will be removed in v3.0)",
            "severity": "medium",
            "category": "deprecation",
            "suggested_fix": {
                "description": "Replace callOldAPI() with callNewAPI()",
                "command": "sed -i 's/callOldAPI/callNewAPI/g' src/api.ts",
            },
        }],
        "warning_analysis": "Update to new API before next major version",
    });
    let commit = json!({
        "warnings": [{"text": "Large commit size (847 lines added)", "severity": "low", "category": "style"}],
        "warning_analysis": "Consider breaking into smaller commits in future",
    });
    Driven::new(
        "frame: a b c | architect: generate-spec review | build: branch implement test commit \
         | evaluate: test judge | release: tag publish",
        LENIENT,
        json!({
            "architect:generate-spec": [spec],
            "build:implement": [implement],
            "build:commit": [commit],
        }),
        25_600,
    )
    .report()
}

/// What comes again after it was applied is to be done again (R5); it is one entry all the same (W16).
#[test]
fn a_fix_that_is_proposed_again_after_it_was_applied_is_open_again() {
    let found =
        json!({"errors": [{"text": "Style", "suggested_fix": {"description": "format", "command": "fmt"}}]});
    let mut driven = Driven::new("build: lint", LENIENT, json!({"build:lint": [found.clone()]}), 300);
    let seen = |driven: &Driven| -> Vec<String> {
        let report = driven.report();
        report.remedies.iter().map(|remedy| format!("{} {:?}", remedy.id(), remedy.choice)).collect()
    };
    let apply = |driven: &mut Driven| {
        let remedy = driven.report().remedies.remove(0);
        driven.go(Command::Remedy(crate::run::RemedyChosen {
            id: Some(remedy.id()),
            task: remedy.task.clone(),
            title: remedy.title(),
            choice: crate::run::Choice::Applied,
            by: "ann".to_owned(),
            command: remedy.command.clone(),
            file: None,
            exit_code: None,
            output: None,
        }));
    };
    assert_eq!(seen(&driven), ["fix-1 None"]);
    apply(&mut driven);
    assert_eq!(seen(&driven), ["fix-1 Some(Applied)"]);
    driven.go(Command::Resume { by: "ann".to_owned() });
    assert_eq!(seen(&driven), ["fix-1 Some(Applied)"]);
    let again = crate::run::tests::finished(&driven.run, &[found]);
    driven.go(again);
    assert_eq!(seen(&driven), ["fix-2 None"]);
    apply(&mut driven);
    assert_eq!(seen(&driven), ["fix-2 Some(Applied)"]);
}

/// Two fixes with one title are two: what is chosen is one of them, also where a report begins later (R5).
#[test]
fn a_choice_is_about_one_remedy() {
    let fix = |file: &str| json!({"description": format!("format {file}"), "command": format!("fmt {file}")});
    let warning = |file: &str| json!({"text": format!("Style of {file}"), "suggested_fix": fix(file)});
    let lint = json!({"warnings": [warning("a.rs"), warning("b.rs")], "suggested_fixes": [fix("b.rs"), fix("c.rs")]});
    let again = json!({"warnings": [warning("b.rs")]});
    let mut driven = Driven::new(
        "build: lint test | release: lint",
        LENIENT,
        json!({"build:lint": [lint], "release:lint": [again]}),
        300,
    );
    let seen = |report: &Report| -> Vec<String> {
        let one = |remedy: &Remedy| format!("{} {} {:?}", remedy.id(), remedy.description, remedy.choice);
        report.remedies.iter().map(one).collect()
    };
    let before = driven.report();
    assert_eq!(before.remedies[0].title(), before.remedies[1].title());
    let untouched = [
        "fix-1 format a.rs None",
        "fix-2 format b.rs None",
        "fix-5 format b.rs None",
        "fix-4 format c.rs None",
    ];
    assert_eq!(seen(&before), untouched);

    let choose = |remedy: &Remedy, choice: crate::run::Choice| {
        Command::Remedy(crate::run::RemedyChosen {
            id: Some(remedy.id()),
            task: remedy.task.clone(),
            title: remedy.title(),
            choice,
            by: "ann".to_owned(),
            command: remedy.command.clone(),
            file: None,
            exit_code: None,
            output: None,
        })
    };
    driven.go(choose(&before.remedies[1], crate::run::Choice::Applied));
    let after = driven.report();
    assert_eq!(seen(&after)[0], untouched[0]);
    assert_eq!(seen(&after)[1], "fix-2 format b.rs Some(Applied)");
    assert_eq!(seen(&after)[2..], untouched[2..]);

    // A report since a check-in knows it by the same name.
    let release = |(_, _, event): &&(u64, Timestamp, RunEvent)| matches!(event, RunEvent::PhaseStarted { phase } if phase == "release");
    let since = driven.events.iter().find(release).unwrap().0;
    let events = driven.events.iter().map(|(seq, at, event)| (*seq, *at, event));
    let later = Report::of(&driven.run, events, since, driven.now);
    assert_eq!(seen(&later), ["fix-5 format b.rs None"]);

    // An event of before ids counts for the one it describes.
    let mut old = driven.events.clone();
    if let Some((_, _, RunEvent::RemedyChosen(chosen))) = old.last_mut() {
        chosen.id = None;
    }
    let events = old.iter().map(|(seq, at, event)| (*seq, *at, event));
    assert_eq!(seen(&Report::of(&driven.run, events, 0, driven.now)), seen(&after));
}

fn stopped() -> Report {
    let failed = json!({
        "message": "2 of 45 files do not compile",
        "errors": [
            {"text": "Security: the token is in the log", "suggested_fix": "Take it out of the log\nand revoke it"},
            {"text": "src/api.ts does not compile", "severity": "high", "category": "Typing"},
        ],
        "warnings": ["Style of src/lib.ts"],
        "error_analysis": "Both came with the last commit",
    });
    Driven::new(
        "frame: gather | build: branch implement test | release: tag",
        "{}",
        json!({"build:implement": [failed]}),
        3_723_000,
    )
    .report()
}

fn truncated() -> Report {
    let autonomy = r#"{"check_in_frequency": "end-only", "warning_tolerance": "high",
        "limits": {"max_total_warnings": 3, "on_limit_reached": "truncate"}}"#;
    let many = json!({"warnings": ["Minor: one", "Minor: two", "Minor: three", "Slow: four", "Slow: five"]});
    Driven::new(
        "build: implement test",
        autonomy,
        json!({"build:implement": [many], "build:test": [many]}),
        1_000,
    )
    .report()
}

/// What a check-in only counts is named, so that nobody approves it unseen (R17).
#[test]
fn a_check_in_names_what_it_leaves_out() {
    let autonomy = r#"{"check_in_frequency": "end-only", "warning_tolerance": "high",
        "limits": {"max_total_warnings": 1000}}"#;
    let many: Vec<String> = (0..203).map(|number| format!("Minor: {number}")).collect();
    let said = json!({"build:implement": [{"warnings": many}]});
    let large = Driven::new("build: implement", autonomy, said, 1_000).report();
    for (report, expected) in [
        (large, json!([{"text": "3 more warnings"}])),
        (truncated(), json!([{"text": "7 more warnings"}])),
        (warned(), json!([])),
    ] {
        assert_eq!(json!(crate::run::left_out(&report)), expected);
    }
}

fn retried() -> Report {
    let failed =
        json!({"errors": [{"text": "3 tests fail", "severity": "high"}], "message": "3 of 90 tests fail"});
    let tried = json!({"attempts": [failed, {"status": "warning", "warnings": ["Minor: one test is slow"], "message": "90 tests pass"}]});
    Driven::new(
        "build: implement | evaluate: +prepare test",
        LENIENT,
        json!({"evaluate:test": [failed, tried]}),
        61_000,
    )
    .report()
}

fn cases() -> [(&'static str, Report); 5] {
    [
        ("clean", clean()),
        ("warned", warned()),
        ("stopped", stopped()),
        ("truncated", truncated()),
        ("retried", retried()),
    ]
}
