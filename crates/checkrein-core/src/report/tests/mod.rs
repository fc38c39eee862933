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
