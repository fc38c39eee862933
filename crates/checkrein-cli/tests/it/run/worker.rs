//! A worker goes on with what can go on.

use rustix::process::Signal;

use super::{Ann, background, expect, ran, scene, status, steps, until, waits_at};

#[test]
fn a_run_goes_on_at_once_where_a_worker_is() {
    let place = scene(&steps(&[("a", "sh found warnings low"), ("b", "sh found warnings low")]));
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &["--set", "check_in_frequency=per-step"], 3);
    let mut worker = background(&place, &["worker"]);
    until(|| worker.noted().contains("waits for runs").then_some(()));
    let first = waits_at(&place, &id);
    expect(&ann.says(&place, &["approve", &first]), 0);
    until(|| worker.noted().contains(&format!("run {id} waits at {id}.2")).then_some(()));
    expect(&ann.says(&place, &["approve", &waits_at(&place, &id)]), 0);
    until(|| (status(&place, &id) == "completed_with_warnings").then_some(()));
    worker.signal(Signal::TERM);
    expect(&worker.end(), 0);
}

#[test]
fn a_worker_leaves_alone_what_waits_or_was_stopped() {
    let place = scene(&steps(&[("a", "sh found warnings low")]));
    let ann = Ann::of(&place);
    let (_, waits) = ran(&place, &[], 3);
    let (_, rejected) = ran(&place, &[], 3);
    expect(&ann.says(&place, &["reject", &waits_at(&place, &rejected), "-m", "no"]), 0);
    let place = place.file("flow.yaml", &steps(&[("a", "false")]));
    let (_, failed) = ran(&place, &[], 4);
    expect(&place.run(&["worker", "--once"]), 0);
    assert_eq!(status(&place, &waits), "held");
    assert_eq!(status(&place, &rejected), "paused", "a no is carried out");
    assert_eq!(status(&place, &failed), "failed");
    expect(&place.run(&["worker", "--once"]), 0);
    assert_eq!(status(&place, &rejected), "paused", "and stays a no");
}

#[test]
fn a_worker_takes_up_what_a_dead_engine_left() {
    let place = scene(&steps(&[("a", "echo a >> done; test -f go || sleep 600"), ("b", "echo b >> done")]));
    let mut engine = background(&place, &["run", "flow.yaml"]);
    until(|| place.path().join("done").exists().then_some(()));
    let id = super::only_run(&place).unwrap();
    engine.signal(Signal::KILL);
    engine.end();
    std::fs::write(place.path().join("go"), "").unwrap();
    expect(&place.run(&["worker", "--once"]), 0);
    assert_eq!(status(&place, &id), "completed");
    assert_eq!(place.read("done"), "a\na\nb\n");
}

/// How long it waits is shown before, and that it is over afterwards, whoever has recorded it.
#[test]
fn a_deadline_is_shown() {
    let place = scene(&format!(
        "autonomy: {{timeout: 1s, on_timeout: reject}}\n{}",
        steps(&[("a", "sh found warnings low")])
    ));
    let (_, id) = ran(&place, &[], 3);
    let checkpoint = format!("{id}.1");
    let shown = place.run(&["checkpoint", "show", &checkpoint, "--json"]).json();
    assert!(shown["expires_at"].as_str().unwrap() > shown["created_at"].as_str().unwrap(), "{shown}");
    let text = place.run(&["checkpoint", "show", &checkpoint]).stdout;
    assert!(text.contains("\nexpires     20"), "{text}");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let listed = place.run(&["runs"]).stdout;
    assert!(listed.contains("held, timed out"), "{listed}");
    let resumed = place.run(&["resume", &id]);
    expect(&resumed, 5);
    assert!(
        resumed.stderr.contains("is paused: rejected by timeout: nobody answered in time"),
        "{}",
        resumed.seen()
    );
}

/// A server records it also where others go on with runs.
#[test]
fn a_server_without_a_worker_records_timeouts() {
    let place = scene(&format!(
        "autonomy: {{timeout: 1s, on_timeout: reject}}\n{}",
        steps(&[("a", "sh found warnings low")])
    ));
    let (_, id) = ran(&place, &[], 3);
    let _served = crate::serve::Served::start(&place, &["--no-worker"]);
    let timed_out = || {
        let exported = place.run(&["store", "export"]).stdout;
        exported
            .lines()
            .any(|line| line.contains(&format!("{id}.1")) && line.contains("timeout"))
            .then_some(())
    };
    super::until(timed_out);
    assert_eq!(status(&place, &id), "held", "nobody goes on with it");
}

#[test]
fn a_hold_that_times_out_is_a_no_where_the_policy_says_so() {
    for (policy, after) in [
        ("timeout: 1s, on_timeout: reject", "paused"),
        ("timeout: 1s, on_timeout: hold", "held"),
        ("timeout: 1s", "held"),
    ] {
        let place = scene(&format!("autonomy: {{{policy}}}\n{}", steps(&[("a", "sh found warnings low")])));
        let (_, id) = ran(&place, &[], 3);
        std::thread::sleep(std::time::Duration::from_millis(1100));
        expect(&place.run(&["worker", "--once"]), 0);
        assert_eq!(status(&place, &id), after, "{policy}");
    }
}
