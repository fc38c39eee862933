//! Ending a run for good, whoever drives it.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{
    Ann, alive, background, expect, logged, of_type, only_run, ran, resume, scene, show, status, steps,
    until, waits_at,
};

const LONG: &str = "echo $$ > pid; (setsid sleep 600 & echo $! > pid2; wait) & echo going; sleep 600";

#[test]
fn cancelling_ends_the_step_another_process_runs() {
    let place = scene(&steps(&[("a", LONG), ("b", "touch after")]));
    let mut running = background(&place, &["run", "flow.yaml"]);
    until(|| (place.path().join("pid2").exists() && alive(&place, "pid2")).then_some(()));
    let id = only_run(&place).unwrap();
    let began = Instant::now();
    let cancelled = place.run(&["cancel", &id, "-m", "wrong branch", "--json"]);
    expect(&cancelled, 0);
    assert!(began.elapsed() < Duration::from_secs(15));
    assert_eq!(cancelled.json()["status"], "cancelled");
    assert!(!alive(&place, "pid") && !alive(&place, "pid2"), "its processes are gone when it says so");
    let ended = running.end();
    assert_eq!(ended.code, 1, "{}", ended.seen());
    assert!(ended.stderr.contains("cancelled"), "{}", ended.seen());
    assert!(!place.path().join("after").exists());
    let ends = of_type(&logged(&place, &id), "workflow-execution");
    assert_eq!(ends.len(), 1, "each record is there once");
    assert_eq!(ends[0]["final_status"], "cancelled");
}

#[test]
fn cancelling_ends_what_a_dead_engine_and_a_dead_supervisor_left() {
    let place = scene(&steps(&[("a", LONG)]));
    let running = background(&place, &["run", "flow.yaml"]);
    until(|| (place.path().join("pid2").exists() && alive(&place, "pid2")).then_some(()));
    let supervisor = super::kill::supervisor_of(running.child.id());
    running.signal(Signal::KILL);
    super::kill::kill_9(supervisor.unwrap());
    let id = only_run(&place).unwrap();
    expect(&place.run(&["cancel", &id]), 0);
    assert!(!alive(&place, "pid") && !alive(&place, "pid2"));
    assert_eq!(status(&place, &id), "cancelled");
}

#[test]
fn cancelling_a_held_run_withdraws_its_question() {
    let place = scene(&steps(&[("a", "sh found warnings low"), ("b", "touch after")]));
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &["--set", "check_in_frequency=per-step"], 3);
    let checkpoint = waits_at(&place, &id);
    let withdrawn = place.run(&["checkpoint", "withdraw", &checkpoint]);
    expect(&withdrawn, 6);
    assert!(withdrawn.stderr.contains(&format!("checkrein cancel {id}")), "{}", withdrawn.seen());
    expect(&place.run(&["cancel", &id]), 0);
    let nothing = ann.says(&place, &["approve", &id]);
    expect(&nothing, 6);
    assert!(nothing.stderr.contains(&format!("run `{id}` waits for no answer")), "{}", nothing.seen());
    let shown = place.run(&["checkpoint", "show", &checkpoint, "--json"]).json();
    assert_eq!((&shown["status"], &shown["reason"]), (&"withdrawn".into(), &"its run was cancelled".into()));
    expect(&ann.says(&place, &["approve", &checkpoint]), 6);
    assert!(!place.run(&["inbox"]).stdout.contains(&checkpoint));
    resume(&place, &id, 6);
    assert!(!place.path().join("after").exists());
    assert!(show(&place, &id)["checkpoint"].is_null());
}

#[test]
fn a_run_is_cancelled_once_and_not_after_its_end() {
    let place = scene(&steps(&[("a", "true")]));
    let (_, id) = ran(&place, &[], 0);
    expect(&place.run(&["cancel", &id]), 6);
    let place = scene(&steps(&[("a", "false")]));
    let (_, id) = ran(&place, &[], 4);
    expect(&place.run(&["cancel", &id]), 0);
    expect(&place.run(&["cancel", &id]), 6);
}

#[test]
fn an_interrupt_pauses_cleanly_and_the_run_goes_on_later() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let place = scene(&steps(&[
            ("a", &format!("echo a >> done; test -f go || {{ {LONG}; }}")),
            ("b", "echo b >> done"),
        ]));
        let mut running = background(&place, &["run", "flow.yaml"]);
        until(|| (place.path().join("pid2").exists() && alive(&place, "pid2")).then_some(()));
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, 7, "{signal:?}: {}", ended.seen());
        assert!(
            ended.stderr.contains("is paused") && ended.stderr.contains("checkrein resume"),
            "{}",
            ended.seen()
        );
        assert!(ended.stdout.contains("WORKFLOW EXECUTION REPORT"), "{}", ended.seen());
        for pid in ["pid", "pid2"] {
            let about = || fs::read_to_string(format!("/proc/{}/stat", place.read(pid).trim()));
            assert!(!alive(&place, pid), "{signal:?} left {pid}: {:?}", about());
        }
        let id = only_run(&place).unwrap();
        assert_eq!(status(&place, &id), "paused");
        assert_eq!(of_type(&logged(&place, &id), "workflow-execution")[0]["final_status"], "paused");
        fs::write(place.path().join("go"), "").unwrap();
        resume(&place, &id, 0);
        assert_eq!(place.read("done"), "a\na\nb\n");
        assert_eq!(status(&place, &id), "completed");
    }
}
