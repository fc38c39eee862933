use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::tests::{created, definition, plan};
use super::super::*;
use super::*;
use crate::checkpoint::Verdict;
use crate::classify::Classifier;
use crate::config::env;
use crate::policy::{LayerRank, Resolution, Scope};
use crate::response::Response;

pub(in crate::run) fn job(autonomy: &str, plan_text: Option<&str>) -> Arc<Definition> {
    let layer = env::layer(LayerRank::Start, "test", autonomy).unwrap();
    let policy =
        Resolution::resolve(Scope::Job, [&layer], Classifier::builtin(), crate::policy::Reading::Strict)
            .unwrap()
            .policy;
    let mut of = plan("x:");
    of.phases.clear();
    let base = Definition::clone(&definition(of, "{}"));
    Arc::new(Definition {
        policy,
        job: Some(Box::new(JobDefinition {
            description: "Write a letter".into(),
            expert: None,
            instructions: None,
            repository: Repository::Own,
            documents: Vec::new(),
            datasources: Vec::new(),
            plan: plan_text.map(str::to_owned),
            merge: Merge::Squash,
            isolation: Isolation::None,
            timeout: None,
            idle_timeout: None,
            disk_bytes: 1 << 30,
            memory_bytes: 8 << 30,
            processes: 4096,
            environment: Vec::new(),
            forge: None,
        })),
        ..base
    })
}

/// An attempt that ended with this result, having changed this many files.
pub(in crate::run) fn worked(run: &Run, result: &Value, files: &[&str]) -> Command {
    let (result_read, _) = AgentResult::read(result);
    let file =
        |path: &&str| FileChange { path: (*path).into(), change: "modified".into(), added: 1, removed: 0 };
    let start = run.state.under_way.as_ref().map_or(0, |under_way| under_way.start);
    Command::Finish(Finished {
        start,
        responses: vec![("id".into(), Response::normalise(result, Classifier::builtin()))],
        started_at: Timestamp::UNIX_EPOCH,
        duration_ms: 1000,
        exit_code: Some(0),
        output: None,
        work: Some(Box::new(Work {
            result: result_read,
            base: "base".into(),
            head: format!("head{start}"),
            files: files.iter().map(file).collect(),
            files_total: files.len(),
            commits: files.len(),
            changed_in_round: files.iter().map(|path| (*path).to_owned()).collect(),
            ..Work::default()
        })),
    })
}

/// Plays a job. Merges and begins happen by themselves; each word of the script is what happens next:
/// `plan` (todos), `done`, `complete`, `none` (nothing at all), `blocked`, `failed`, `yes`, `change`,
/// `over`, `no`, `conflict` (instead of the next merge), `resume`, or JSON of a result.
fn play(definition: &Arc<Definition>, script: &str) -> String {
    let (mut run, _) = created(definition);
    let mut told = Vec::new();
    let mut apply = |run: &mut Run, command: Command| {
        let applied = run.apply(command, Timestamp::UNIX_EPOCH).unwrap_or_else(|refusal| panic!("{refusal}"));
        told.extend(applied.events.iter().filter_map(word));
    };
    apply(&mut run, Command::Start);
    let mut words = script.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let hold = run.state.hold.as_ref().map_or(0, |hold| hold.number);
        let answer = |verdict, start_over| Command::Answer {
            hold,
            verdict,
            by: "ann".into(),
            reason: Some("shorter".into()),
            start_over,
        };
        let command = match word {
            "plan" => worked(&run, &json!({"next_todos": ["a", "b"], "summary": "planned"}), &["plan"]),
            "done" => worked(&run, &json!({"summary": "worked"}), &["letter"]),
            "same" => worked(&run, &json!({"next_todos": ["a"]}), &[]),
            "none" => worked(&run, &json!({}), &[]),
            "ci" => worked(&run, &json!({"next_todos": ["a"]}), &[".github/workflows/ci.yml"]),
            "complete" => worked(&run, &json!({"outcome": "job_complete"}), &["report"]),
            "complete-idle" => worked(&run, &json!({"outcome": "job_complete"}), &[]),
            "complete-todos" => {
                worked(&run, &json!({"outcome": "job_complete", "next_todos": ["x"]}), &["report"])
            }
            "blocked" => worked(&run, &json!({"outcome": "blocked", "summary": "no key"}), &[]),
            "failed" => worked(&run, &json!({"outcome": "failed", "errors": ["boom"]}), &[]),
            "yes" => answer(Verdict::Approve, false),
            "change" => answer(Verdict::RequestChanges, false),
            "over" => answer(Verdict::RequestChanges, true),
            "no" => answer(Verdict::Reject, false),
            "resume" => Command::Resume { by: "ann".into() },
            "pause" => Command::Pause { by: "ann".into() },
            "conflict" => continue,
            result => worked(&run, &serde_json::from_str(result).expect(result), &["letter"]),
        };
        apply(&mut run, command);
        loop {
            match run.due() {
                Some(Effect::Land) if words.peek() == Some(&"conflict") => {
                    let conflict = Conflict { files: vec!["letter".into()], ..Conflict::default() };
                    apply(&mut run, Command::Conflict(conflict));
                }
                Some(Effect::Land) => {
                    apply(
                        &mut run,
                        Command::Land(Landed { main: "m".into(), changed: true, ..Landed::default() }),
                    );
                }
                Some(Effect::Begin) => apply(&mut run, Command::Begin),
                _ => break,
            }
        }
    }
    told.join(" ")
}

fn word(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::PhaseStarted { phase } => {
            phase.trim_start_matches("phase-").replace("-strategic", "s").replace("-tactical", "t")
        }
        RunEvent::RunHeld { hold, round, boundary, .. } => {
            let complete = if boundary.at == Boundary::Complete { "!" } else { "" };
            format!("held{complete}{hold}.{round}")
        }
        RunEvent::PhasePassed { review: Some(number), .. } => format!("pass{number}"),
        RunEvent::PhasePassed { review: None, .. } => "pass".into(),
        RunEvent::PhaseRepeated { .. } => "again".into(),
        RunEvent::ChangesRequested { start_over, .. } => if *start_over { "over" } else { "change" }.into(),
        RunEvent::HoldReleased { .. } => "yes".into(),
        RunEvent::HoldRejected { .. } => "no".into(),
        RunEvent::LandingConflicted { .. } => "conflict".into(),
        RunEvent::PhaseLanded { .. } => "merged".into(),
        RunEvent::RunPaused { reason, .. } => format!("paused({})", reason.as_deref().unwrap_or("")),
        RunEvent::RunEnded { status, reason, .. } => match reason {
            Some(reason) => format!("{status}({reason})"),
            None => status.to_string(),
        },
        RunEvent::RunCancelled { .. } => "cancelled".into(),
        RunEvent::AttemptFinished(attempt) => {
            let warnings: Vec<&str> =
                attempt.response.warnings.iter().map(|finding| finding.text.as_str()).collect();
            if warnings.is_empty() {
                return None;
            }
            format!("[{}]", warnings.join(", "))
        }
        _ => return None,
    })
}

#[test]
fn the_freeze_table() {
    for (level, expected) in [
        ("full", "1s pass merged 2t pass merged 3s pass merged 4t pass merged 5s pass merged completed"),
        ("review", "1s pass1 merged 2t pass2 merged 3s pass3 merged 4t pass4 merged 5s held!5.1"),
        ("partial", "1s held1.1 yes merged 2t pass2 merged 3s pass3 merged 4t pass4 merged 5s held!5.1"),
        ("guided", "1s held1.1 yes merged 2t pass2 merged 3s held3.1 yes merged 4t pass4 merged 5s held!5.1"),
        (
            "dependent",
            "1s held1.1 yes merged 2t held2.1 yes merged 3s held3.1 yes merged 4t held4.1 yes merged 5s held!5.1",
        ),
        (
            r#"{"level":"custom","hold_at":[{"on":"phase","every":2}]}"#,
            "1s pass1 merged 2t held2.1 yes merged 3s pass3 merged 4t held4.1 yes merged 5s pass5 merged completed",
        ),
    ] {
        let holds: &[&str] = match level {
            "partial" => &["plan"],
            "guided" => &["plan", "look"],
            "dependent" => &["plan", "do", "look"],
            other if other.starts_with('{') => &["do"],
            _ => &[],
        };
        let yes = |what: &str| if holds.contains(&what) { " yes" } else { "" };
        let second = if holds.contains(&"look") { " yes" } else { "" };
        let script = format!("plan{} done{} plan{second} done{} complete", yes("plan"), yes("do"), yes("do"));
        assert_eq!(play(&job(level, None), &script), expected, "{level}");
    }
}

#[test]
fn the_resume_table() {
    let guided = job("guided", None);
    let dependent = job("dependent", None);
    for (definition, script, expected) in [
        // after the first plan
        (&guided, "plan yes", "1s held1.1 yes merged 2t"),
        (&guided, "plan change plan", "1s held1.1 change held1.2"),
        (&guided, "plan change plan yes", "1s held1.1 change held1.2 yes merged 2t"),
        // after a later plan
        (
            &guided,
            "plan yes done plan change plan yes",
            "1s held1.1 yes merged 2t pass2 merged 3s held3.1 change held3.2 yes merged 4t",
        ),
        // after work: planned, then done, on the same branch
        (&dependent, "plan yes done change plan done", "1s held1.1 yes merged 2t held2.1 change held2.2"),
        (
            &dependent,
            "plan yes done change plan done yes",
            "1s held1.1 yes merged 2t held2.1 change held2.2 yes merged 3s",
        ),
        // after the end
        (
            &guided,
            "plan yes done complete yes",
            "1s held1.1 yes merged 2t pass2 merged 3s held!3.1 yes merged completed",
        ),
        (
            &guided,
            "plan yes done complete change complete yes",
            "1s held1.1 yes merged 2t pass2 merged 3s held!3.1 change held!3.2 yes merged completed",
        ),
        (
            &guided,
            "plan yes done complete change plan yes",
            "1s held1.1 yes merged 2t pass2 merged 3s held!3.1 change held3.2 yes merged 4t",
        ),
        // a no ends it, a new start has a branch and a review of its own
        (&guided, "plan no", "1s held1.1 no cancelled"),
        (&guided, "plan over plan", "1s held1.1 over held2.2"),
        (
            &guided,
            "plan change plan over plan change plan",
            "1s held1.1 change held1.2 over held2.3 change held2.4",
        ),
    ] {
        assert_eq!(play(definition, script), expected, "{script}");
    }
}

#[test]
fn what_an_agent_says_is_not_always_accepted() {
    let review = job("review", None);
    for (script, expected) in [
        (
            "plan complete",
            "1s pass1 merged 2t [job_complete was not accepted: only a strategic phase can complete a job] pass2 merged 3s",
        ),
        ("complete-todos", "1s [job_complete was not accepted: there are todos left] pass1 merged 2t"),
        (
            "complete change complete-idle",
            "1s held!1.1 change [job_complete was not accepted: nothing was committed since a person requested changes] again",
        ),
        ("none plan", "1s again pass1 merged 2t"),
        ("none none", "1s again paused(phase-1-strategic left neither todos nor job_complete, twice)"),
        (
            "none none resume none plan",
            "1s again paused(phase-1-strategic left neither todos nor job_complete, twice) again pass1 merged 2t",
        ),
        ("blocked", "1s paused(The agent cannot go on: no key)"),
        ("blocked resume plan", "1s paused(The agent cannot go on: no key) pass1 merged 2t"),
        ("failed", "1s failed(boom)"),
        ("failed resume plan", "1s failed(boom) pass1 merged 2t"),
        ("same", "1s pass merged 2t"),
    ] {
        assert_eq!(play(&review, script), expected, "{script}");
    }
}

#[test]
fn some_things_hold_at_every_level() {
    for (autonomy, script, expected) in [
        ("full", "ci", "1s held1.1"),
        ("full", "plan conflict yes", "1s pass conflict held1.2 yes merged 2t"),
        (
            r#"{"level":"full","budget":{"time":"2s"}}"#,
            "plan done yes plan",
            "1s pass merged 2t held1.1 yes merged 3s pass merged 4t",
        ),
        (
            r#"{"level":"full","max_phases":2}"#,
            "plan done yes plan done yes plan",
            "1s pass merged 2t held1.1 yes merged 3s pass merged 4t held2.1 yes merged 5s pass merged 6t",
        ),
        (
            r#"{"level":"full","max_phases":1}"#,
            "plan change plan yes",
            "1s held1.1 change held1.2 yes merged 2t",
        ),
        (
            r#"{"level":"full","max_phases":3}"#,
            "plan done complete",
            "1s pass merged 2t pass merged 3s pass merged completed",
        ),
        (
            r#"{"level":"full","budget":{"tokens":10}}"#,
            r#"{"next_todos":["a"],"usage":{"tokens":10}}"#,
            "1s held1.1",
        ),
        (
            r#"{"level":"full","budget":{"cost":0.5}}"#,
            r#"{"next_todos":["a"],"usage":{"cost":0.4}}"#,
            "1s pass merged 2t",
        ),
        (
            r#"{"level":"full","error_tolerance":"low"}"#,
            r#"{"next_todos":["a"],"errors":[{"text":"bad","severity":"high"}]}"#,
            "1s failed(Error exceeds tolerance: bad)",
        ),
        (
            r#"{"level":"full","limits":{"max_total_errors":1}}"#,
            r#"{"next_todos":["a"],"errors":[{"text":"bad","severity":"low"}]} resume"#,
            "1s failed(Global limit reached: 1/1 errors) pass merged 2t",
        ),
        (
            r#"{"level":"custom","hold_at":[{"on":"phase","confidence_below":0.7}]}"#,
            r#"{"next_todos":["a"],"confidence":0.6}"#,
            "1s held1.1",
        ),
        (
            r#"{"level":"custom","hold_at":[{"on":"phase","confidence_below":0.7}]}"#,
            r#"{"next_todos":["a"],"confidence":0.8}"#,
            "1s pass1 merged 2t",
        ),
        (
            r#"{"level":"custom","hold_at":[{"on":"phase","milestone":"agreed"}]}"#,
            r#"{"next_todos":["a"],"milestone":"agreed"}"#,
            "1s held1.1",
        ),
    ] {
        assert_eq!(play(&job(autonomy, None), script), expected, "{autonomy} {script}");
    }
}

#[test]
fn a_job_that_never_ends_holds_after_fifty_phases() {
    let told = play(&job("full", None), &"plan done ".repeat(25));
    assert!(told.ends_with("49s pass merged 50t held1.1"), "{told}");
}

#[test]
fn a_persons_own_plan_is_not_reviewed() {
    assert_eq!(play(&job("dependent", Some("1. write")), "plan done"), "1s pass1 merged 2t held2.1");
}

#[test]
fn a_changed_policy_acts_from_the_next_boundary_on() {
    let (mut run, _) = created(&job("partial", None));
    let go = |run: &mut Run, command| run.apply(command, Timestamp::UNIX_EPOCH).unwrap();
    go(&mut run, Command::Start);
    let plan_done = worked(&run, &json!({"next_todos": ["a"]}), &["plan"]);
    go(&mut run, plan_done);
    let full = Box::new(job("full", None).policy.clone());
    go(&mut run, Command::ChangePolicy { policy: full, by: "ann".into() });
    assert_eq!(run.state.status, RunStatus::Held, "loosening releases nothing");
    let hold = run.state.hold.as_ref().unwrap().number;
    let answer = Command::Answer {
        hold,
        verdict: Verdict::Approve,
        by: "ann".into(),
        reason: None,
        start_over: false,
    };
    go(&mut run, answer);
    let dependent = Box::new(job("dependent", None).policy.clone());
    go(&mut run, Command::Land(Landed { main: "m".into(), ..Landed::default() }));
    go(&mut run, Command::ChangePolicy { policy: dependent, by: "ann".into() });
    let done = worked(&run, &json!({}), &["letter"]);
    go(&mut run, done);
    assert_eq!(run.state.status, RunStatus::Held, "a stricter one holds at the next");
}

#[test]
fn each_comment_is_given_to_one_round() {
    let (mut run, _) = created(&job("partial", None));
    let go = |run: &mut Run, command| run.apply(command, Timestamp::UNIX_EPOCH).unwrap();
    let say = |text: &str| {
        let comment = NewComment {
            file: Some("plan.md".into()),
            line: Some(3),
            text: text.into(),
            ..NewComment::default()
        };
        Command::Comment { comment, by: "ann".into(), author: Author::Person }
    };
    let change = |run: &Run| Command::Answer {
        hold: run.state.hold.as_ref().unwrap().number,
        verdict: Verdict::RequestChanges,
        by: "ann".into(),
        reason: Some("shorter".into()),
        start_over: false,
    };
    go(&mut run, Command::Start);
    let planned = worked(&run, &json!({"next_todos": ["a"]}), &["plan.md"]);
    go(&mut run, planned);
    go(&mut run, say("[FIX] too long"));
    let wanted = change(&run);
    go(&mut run, wanted);
    go(&mut run, Command::Begin);
    assert!(brief::feedback(&run).unwrap().contains("**c1** by ann at `plan.md:3` [FIX]"));
    // Lost and begun again: it is in the brief again.
    let start = run.state.starts;
    go(&mut run, Command::Lose { start });
    assert!(brief::feedback(&run).unwrap().contains("too long"));
    go(&mut run, say("while you work"));
    let replied = worked(
        &run,
        &json!({"next_todos": ["a"], "comment_replies": [{"id": "c1", "text": "cut"}]}),
        &["plan.md"],
    );
    go(&mut run, replied);
    let comments = &run.job().unwrap().1.comments;
    assert_eq!(comments.iter().filter(|comment| comment.from_agent).count(), 1);
    let wanted = change(&run);
    go(&mut run, wanted);
    go(&mut run, Command::Begin);
    let given = brief::feedback(&run).unwrap();
    assert!(!given.contains("too long") && given.contains("while you work"), "{given}");
    let comments = BriefJson::of(&run, &brief::OnBranch::default()).unwrap().comments;
    let ids = |comments: &[Comment]| comments.iter().map(|known| known.id.clone()).collect::<Vec<_>>();
    assert_eq!(
        (ids(&comments.new), ids(&comments.earlier)),
        (vec!["c2".into()], vec!["c1".into(), "c3".into()])
    );
    assert!(comments.earlier.iter().any(|known| known.from_agent && known.reply_to.as_deref() == Some("c1")));
}

/// Whatever ended an attempt before its result, the next one is told of it and of what it left.
#[test]
fn the_next_attempt_is_told_of_one_without_a_result() {
    let failed = json!({"outcome": "failed", "errors": ["boom"]});
    let blocked = json!({"outcome": "blocked", "summary": "no key"});
    let strict = r#"{"level":"full","error_tolerance":"low"}"#;
    let bad = json!({"next_todos": ["a"], "errors": [{"text": "bad", "severity": "high"}]});
    for (autonomy, ended, because, words) in [
        ("full", None, UnfinishedBecause::Lost, "was lost: its process died"),
        ("full", Some(Value::Null), UnfinishedBecause::Paused, "was paused before"),
        ("full", Some(failed), UnfinishedBecause::Failed, "failed.\n\n  > boom"),
        ("full", Some(blocked), UnfinishedBecause::Blocked, "could not continue.\n\n  > no key"),
        (strict, Some(bad), UnfinishedBecause::Stopped, "was stopped by the policy because of what it found"),
    ] {
        let (mut run, _) = created(&job(autonomy, None));
        let go = |run: &mut Run, command| drop(run.apply(command, Timestamp::UNIX_EPOCH).unwrap());
        let left = brief::LeftInClone {
            commits: vec!["half of it".into()],
            files: vec![FileChange { path: "letter".into(), change: "added".into(), added: 3, removed: 0 }],
            left_out: vec!["`pipe` was not taken".into()],
        };
        let on_branch = brief::OnBranch { left, ..brief::OnBranch::default() };
        go(&mut run, Command::Start);
        assert!(!brief::brief(&run, &on_branch).contains("The attempt before"), "{words}: the first attempt");
        match ended {
            None => {
                let start = run.state.starts;
                go(&mut run, Command::Lose { start });
            }
            Some(result) => {
                let end = match result {
                    Value::Null => Command::Pause { by: "ann".into() },
                    result => worked(&run, &result, &["letter"]),
                };
                go(&mut run, end);
                go(&mut run, Command::Resume { by: "ann".into() });
            }
        }
        let told = brief::brief(&run, &on_branch);
        for part in [words, "- half of it\n", "- added letter (+3 -0)\n", "- `pipe` was not taken\n"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let data = BriefJson::of(&run, &on_branch).unwrap().unfinished.unwrap();
        assert_eq!((data.because, data.left.files.len()), (because, 1), "{words}");
        let planned = worked(&run, &json!({"next_todos": ["a"]}), &["plan"]);
        go(&mut run, planned);
        assert_eq!(run.job().unwrap().1.phase.unfinished, None, "{words}: a result ends it");
    }
}

/// A model that does not answer pauses its job until it is tried again, and leaves nothing in the report.
#[test]
fn an_outage_pauses_until_it_is_tried_again() {
    let (mut run, _) = created(&job("full", None));
    let go = |run: &mut Run, command| run.apply(command, Timestamp::UNIX_EPOCH).unwrap().events;
    let outage = |run: &Run| {
        let mut command = worked(run, &json!({"outcome": "blocked", "summary": "its model is away"}), &[]);
        if let Command::Finish(Finished { work: Some(work), .. }) = &mut command {
            work.outage = true;
        }
        command
    };
    let waits = |events: &[RunEvent]| {
        events.iter().find_map(|event| match event {
            RunEvent::RunPaused { retry_at, .. } => Some(retry_at.map(Timestamp::as_second)),
            _ => None,
        })
    };
    go(&mut run, Command::Start);
    let mut waited = Vec::new();
    for _ in 0..8 {
        let command = outage(&run);
        waited.push(waits(&go(&mut run, command)).unwrap());
        assert_eq!(run.state.retry_at.map(Timestamp::as_second), *waited.last().unwrap(), "it is remembered");
        go(&mut run, Command::Resume { by: RETRIER.into() });
        assert_eq!(run.state.retry_at, None);
    }
    assert_eq!(waited, [30, 60, 120, 300, 900, 1800, 3600, 3600].map(Some));
    // A person begins the waits anew, and so does an answer.
    go(&mut run, Command::Pause { by: "ann".into() });
    assert_eq!(run.state.retry_at, None, "whoever pauses it resumes it");
    go(&mut run, Command::Resume { by: "ann".into() });
    let command = outage(&run);
    assert_eq!(waits(&go(&mut run, command)), Some(Some(30)));
    go(&mut run, Command::Resume { by: RETRIER.into() });
    for _ in 0..29 {
        let command = outage(&run);
        go(&mut run, command);
        go(&mut run, Command::Resume { by: RETRIER.into() });
    }
    let command = outage(&run);
    assert_eq!(waits(&go(&mut run, command)), Some(None), "after a day a person has to look");
    go(&mut run, Command::Resume { by: "ann".into() });
    let planned = worked(&run, &json!({"next_todos": ["a"]}), &["plan"]);
    go(&mut run, planned);
    let job = run.job().unwrap().1;
    assert_eq!((job.phase.outages, run.state.tally.totals()), (0, crate::tally::Totals::default()));
    // Blocked by anything else is for a person.
    go(&mut run, Command::Land(Landed { main: "m".into(), changed: true, ..Landed::default() }));
    let blocked = worked(&run, &json!({"outcome": "blocked", "summary": "no key"}), &[]);
    assert_eq!(waits(&go(&mut run, blocked)), Some(None));
}

/// An approval ends with the content it was given for, whoever changed that; a request for changes stands (R16).
#[test]
fn an_approved_mark_belongs_to_its_content() {
    let go = |run: &mut Run, command| run.apply(command, Timestamp::UNIX_EPOCH).unwrap();
    let mark = |file: &str, mark| {
        let content = Some("100644 a".to_owned());
        Command::Mark { file: file.into(), mark: Some(mark), by: "ann".into(), content }
    };
    let push = |hold: u32, lapsed: &[&str]| Command::Push {
        hold,
        head: "pushed".into(),
        files: Vec::new(),
        files_total: 0,
        next_todos: None,
        conflict: None,
        lapsed: lapsed.iter().map(|file| (*file).to_owned()).collect(),
    };
    let seen = |run: &Run| {
        let marks = FileMarks::of(run.job().unwrap().1);
        ["plan", "notes", "letter"].map(|file| match (marks.mark(file), marks.is_lapsed(file)) {
            (Some(mark), false) => mark.name(),
            (None, true) => "lapsed",
            (None, false) => "-",
            both => panic!("{both:?}"),
        })
    };
    let (mut run, _) = created(&job("partial", None));
    go(&mut run, Command::Start);
    let planned = worked(&run, &json!({"next_todos": ["a"]}), &["plan", "notes", "letter"]);
    go(&mut run, planned);
    for (file, word) in
        [("plan", FileMark::Approved), ("notes", FileMark::Approved), ("letter", FileMark::ChangesRequested)]
    {
        go(&mut run, mark(file, word));
    }
    let hold = run.state.hold.as_ref().unwrap().number;
    go(&mut run, push(hold, &["plan", "letter"]));
    assert_eq!(seen(&run), ["lapsed", "approved", "changes_requested"], "a person pushed");
    go(&mut run, mark("plan", FileMark::Approved));
    assert_eq!(seen(&run), ["approved", "approved", "changes_requested"], "marked again");
    let change = Command::Answer {
        hold,
        verdict: Verdict::RequestChanges,
        by: "ann".into(),
        reason: Some("shorter".into()),
        start_over: true,
    };
    go(&mut run, change);
    go(&mut run, Command::Begin);
    // However the attempt ends, what it left is what the next person sees.
    let Command::Finish(mut blocked) = worked(&run, &json!({"outcome": "blocked", "summary": "no key"}), &[])
    else {
        panic!()
    };
    blocked.work.as_mut().unwrap().lapsed = vec!["plan".to_owned()];
    go(&mut run, Command::Finish(blocked));
    assert_eq!(seen(&run), ["lapsed", "approved", "-"], "the agent changed it");
}

#[test]
fn a_mark_of_an_earlier_version_is_read() {
    let read = |text: &str| serde_json::from_str::<MarkedFile>(text).unwrap();
    assert_eq!(read("\"approved\""), MarkedFile { mark: FileMark::Approved, content: None });
    let now = MarkedFile { mark: FileMark::Approved, content: Some("100644 a".into()) };
    assert_eq!(read(&serde_json::to_string(&now).unwrap()), now);
}

/// Work that asks to plan again ends early; the next plan begins with why, and the one after forgets it.
#[test]
fn work_may_ask_to_plan_again() {
    let (mut run, _) = created(&job("full", None));
    let go = |run: &mut Run, command| drop(run.apply(command, Timestamp::UNIX_EPOCH).unwrap());
    let finish = |run: &mut Run, result: Value| {
        let command = worked(run, &result, &["letter"]);
        go(run, command);
        go(run, Command::Land(Landed { main: "m".into(), changed: true, ..Landed::default() }));
    };
    let told = |run: &Run| brief::brief(run, &brief::OnBranch::default());
    go(&mut run, Command::Start);
    finish(&mut run, json!({"next_todos": ["a", "b"], "replan": "a plan asks for nothing"}));
    assert!(run.job().unwrap().1.replan.is_none() && !told(&run).contains("plan again:"));
    // Without a word about its todos none of them is done.
    finish(&mut run, json!({"replan": "b leads nowhere"}));
    assert_eq!(run.job().unwrap().1.phase.name(), "phase-3-strategic");
    let brief = told(&run);
    assert!(brief.contains("## Why you plan again") && brief.contains("> b leads nowhere"), "{brief}");
    let json = BriefJson::of(&run, &brief::OnBranch::default()).unwrap();
    assert_eq!(json.replan.as_deref(), Some("b leads nowhere"));
    finish(&mut run, json!({"next_todos": ["c"]}));
    assert!(run.job().unwrap().1.replan.is_none() && !told(&run).contains("plan again:"));
    let (result, _) = AgentResult::read(&json!({"replan": "why", "todos_done": [1]}));
    assert_eq!(result.summary, "asks to plan again: why");
    let phase =
        JobPhase { todos: TodoList::of_plan("- [ ] a\n- [ ] b"), ..run.job().unwrap().1.phase.clone() };
    let done = |result: &AgentResult| phase.todos_after(result).iter().filter(|todo| todo.done).count();
    assert_eq!(done(&result), 1);
    assert_eq!(done(&AgentResult { todos_done: None, ..result.clone() }), 0);
    assert_eq!(done(&AgentResult::default()), 2);
}
