//! Going on with a run, and doing it again.

use std::fs;

use super::{Ann, expect, id_of, ran, responses, resume, scene, show, status, steps, waits_at};

#[test]
fn a_failed_run_goes_on_at_the_step_that_failed() {
    let place = scene(&steps(&[
        ("a", "echo a >> done"),
        ("b", "echo b >> done; test -f mended"),
        ("c", "echo c >> done"),
    ]));
    let (_, id) = ran(&place, &[], 4);
    assert_eq!(place.read("done"), "a\nb\n");
    fs::write(place.path().join("mended"), "").unwrap();
    let again = resume(&place, &id, 3);
    assert_eq!(id_of(&again), id, "the id is kept");
    assert_eq!(place.read("done"), "a\nb\nb\nc\n");
    assert_eq!(
        responses(&place, &id),
        ["build:a success", "build:b failure", "build:b success", "build:c success"]
    );
    let attempts: Vec<_> =
        super::logged(&place, &id).iter().filter_map(|one| one["attempt"].as_u64()).collect();
    assert_eq!(attempts, [1, 1, 2, 1]);
    assert!(!again.stderr.contains("lost"), "nothing was lost: {}", again.seen());
}

#[test]
fn what_is_over_is_not_resumed_but_can_be_done_again() {
    let completed = scene(&steps(&[("a", "echo a >> done")]));
    let (_, done) = ran(&completed, &[], 0);
    let cancelled = scene(&steps(&[("a", "echo a >> done; sh found warnings low")]));
    let (_, gone) = ran(&cancelled, &[], 3);
    expect(&cancelled.run(&["cancel", &gone]), 0);
    for (place, id, word) in [(completed, done, "completed"), (cancelled, gone, "cancelled")] {
        let refused = resume(&place, &id, 6);
        assert!(
            refused.stderr.contains(word) && refused.stderr.contains("checkrein rerun"),
            "{}",
            refused.seen()
        );
        let again = place.run(&["rerun", &id, "--yes"]);
        expect(&again, 0);
        let other = id_of(&again);
        assert_ne!(other, id);
        assert_eq!(show(&place, &other)["rerun_of"], id.as_str());
        assert_eq!(place.read("done"), "a\na\n");
        assert_eq!(status(&place, &id), word, "the old one stays as it was");
    }
}

#[test]
fn a_rerun_keeps_target_values_and_policy() {
    let place = scene(&steps(&[("a", "echo {target} {colour} >> done; sh found warnings medium")]));
    let more = ["--target", "t", "--set", "colour=red", "--set", "warning_tolerance=high", "--yes"];
    let (_, id) = ran(&place, &more, 0);
    let place = place.file("flow.yaml", "gone: [");
    expect(&place.run(&["rerun", &id, "--yes"]), 0);
    assert_eq!(place.read("done"), "t red\nt red\n");
}

#[test]
fn a_run_is_named_by_a_part_of_its_id_that_no_other_has() {
    let place = scene(&steps(&[("a", "true")]));
    let (_, first) = ran(&place, &[], 0);
    let (_, second) = ran(&place, &[], 0);
    for id in [&first, &second] {
        let word = id.rsplit('-').next().unwrap();
        assert_eq!(show(&place, word)["run_id"], id.as_str());
    }
    let several = place.run(&["show", first.split('-').next().unwrap()]);
    expect(&several, 6);
    for command in [
        &["show", "nobody"][..],
        &["resume", "nobody"],
        &["rerun", "nobody"],
        &["cancel", "nobody"],
        &["report", "nobody"],
    ] {
        let none = place.run(command);
        expect(&none, 6);
        assert!(
            none.stderr.contains("`nobody`") && none.stderr.contains("checkrein runs"),
            "{}",
            none.seen()
        );
    }
}

#[test]
fn steps_run_where_the_run_was_started_wherever_it_is_resumed() {
    let place = scene(&steps(&[("a", "sh found warnings low"), ("b", "touch here")])).file("sub/x", "");
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &["--set", "check_in_frequency=per-step"], 3);
    expect(&ann.says(&place, &["approve", &waits_at(&place, &id)]), 0);
    expect(&place.shell(&format!("cd sub && checkrein resume {id}")), 0);
    assert!(place.path().join("here").exists());
}

#[test]
fn runs_are_listed_newest_first_and_by_status() {
    let place = scene(&steps(&[("a", "true")]));
    let (_, first) = ran(&place, &["--target", "one"], 0);
    let place = place.file("flow.yaml", &steps(&[("a", "false")]));
    let (_, second) = ran(&place, &["--target", "two"], 4);
    let ids = |arguments: &[&str]| super::texts(&place.run(arguments).json()["items"], "run_id");
    assert_eq!(ids(&["runs", "--json"]), [second.clone(), first.clone()]);
    assert_eq!(ids(&["runs", "--json", "--status", "failed"]), [second]);
    assert_eq!(ids(&["runs", "--json", "--status", "completed"]), [first]);
    let table = place.run(&["runs"]).stdout;
    assert!(table.contains("failed") && table.contains("two"), "{table}");
}

#[test]
fn a_run_somebody_drives_is_not_driven_twice() {
    let place = scene(&steps(&[("a", "echo >> starts; while [ ! -f go ]; do sleep 0.02; done")]));
    let mut running = super::background(&place, &["run", "flow.yaml", "--json"]);
    super::until(|| place.path().join("starts").exists().then_some(()));
    let id = super::only_run(&place).unwrap();
    let busy = resume(&place, &id, 6);
    assert!(busy.stderr.contains(&id), "{}", busy.seen());
    fs::write(place.path().join("go"), "").unwrap();
    assert_eq!(running.end().code, 0);
    assert_eq!(place.read("starts"), "\n");
}

#[test]
fn of_several_that_resume_at_once_one_does_and_nothing_is_done_twice() {
    let place = scene(&steps(&[
        ("a", "sh found warnings low"),
        ("b", "echo b >> done; sleep 0.2"),
        ("c", "echo c >> done"),
    ]));
    let ann = Ann::of(&place);
    let (_, id) = ran(&place, &["--set", "check_in_frequency=per-step"], 3);
    expect(&ann.says(&place, &["approve", &waits_at(&place, &id)]), 0);
    let mut all: Vec<_> = (0..4).map(|_| super::background(&place, &["resume", &id])).collect();
    let codes: Vec<i32> = all.iter_mut().map(|one| one.end().code).collect();
    assert!(codes.contains(&0) && codes.iter().all(|code| [0, 6].contains(code)), "{codes:?}");
    assert_eq!(place.read("done"), "b\nc\n");
    assert_eq!(status(&place, &id), "completed_with_warnings");
}

#[test]
fn a_reader_who_had_enough_does_not_stop_the_run() {
    for options in ["--json", "--json 2>&1", "2>&1"] {
        let place = scene(&steps(&[("a", "sleep 0.1"), ("b", "echo b >> done")]));
        place.shell(&format!("checkrein run flow.yaml {options} | head -n 1"));
        let id = super::only_run(&place).unwrap();
        assert_eq!(
            (status(&place, &id).as_str(), place.read("done").as_str()),
            ("completed", "b\n"),
            "{options}"
        );
    }
}
