//! Jobs that are cancelled, interrupted, taken up again, or done again.

use rustix::process::Signal;

use super::{Job, agent_of, id_of, job, scene, with_repository};
use crate::place::Place;
use crate::run::{Ann, Background, alive, background, data, expect, only_run, show, until};

/// Works a little and then waits, with a process of its own, until somebody says go.
const WAITS: &str = r#"if test -f "$here/go"; then ls > "$here/seen"; usual; exit; fi
echo half > half; git add half; git commit -qm 'half of it'; echo loose > loose
sleep 600 & echo $! > "$here/pid"; touch "$here/began"; wait"#;

fn begun(place: &Place, more: &[&str]) -> Background {
    let engine = background(place, &[&["job", "Write", "--agent", &agent_of(place)], more].concat());
    until(|| place.path().join("began").exists().then_some(()));
    engine
}

#[test]
fn a_cancelled_job_keeps_what_was_done_on_its_branch() {
    let place = scene(WAITS);
    let mut engine = begun(&place, &[]);
    let id = only_run(&place).unwrap();
    expect(&place.run(&["cancel", &id, "-m", "enough"]), 0);
    assert!(!alive(&place, "pid"), "nothing is left running");
    expect(&engine.end(), 1);
    let ann = Ann::of(&place);
    let job = Job { given: place.run(&["show", &id]), ann, id, place };
    assert_eq!(job.status(), "cancelled");
    assert_eq!(job.file("phase-1-strategic", "loose"), "loose");
    assert!(job.titles("phase-1-strategic").contains(&"half of it".to_owned()));
    assert_eq!(job.titles("main").len(), 1);
    assert!(!data(&job.place, &format!("jobs/{}/clone", job.id)).exists());
    expect(&job.place.run(&["resume", &job.id]), 6);
}

#[test]
fn a_job_that_waits_can_be_cancelled() {
    let job = job(scene("usual"), &[], 3);
    let at = job.waits_at();
    expect(&job.place.run(&["cancel", &job.id]), 0);
    assert_eq!(job.status(), "cancelled");
    assert_eq!(job.place.run(&["checkpoint", "show", &at, "--json"]).json()["status"], "withdrawn");
    expect(&job.ann.says(&job.place, &["approve", &at]), 6);
    assert_eq!(job.branches(), ["main", "phase-1-strategic"]);
}

#[test]
fn an_interrupt_pauses_and_resume_goes_on_with_what_was_done() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let place = scene(WAITS);
        let mut engine = begun(&place, &[]);
        engine.signal(signal);
        let ended = engine.end();
        expect(&ended, 7);
        assert!(ended.stderr.contains("is paused"), "{}", ended.seen());
        assert!(!alive(&place, "pid"));
        let id = id_of(&ended);
        assert_eq!(show(&place, &id)["status"], "paused");
        std::fs::write(place.path().join("go"), "").unwrap();
        expect(&place.run(&["resume", &id]), 3);
        assert!(place.read("seen").contains("half\nloose"), "{}", place.read("seen"));
        let brief = place.read("brief.2");
        for told in
            ["was paused before it handed in a result", "- half of it\n", "added half (", "added loose ("]
        {
            assert!(brief.contains(told), "{told}: {brief}");
        }
        assert_eq!(place.read("calls"), "1 strategic 1\n1 strategic 1\n");
    }
}

#[test]
fn a_job_has_one_driver() {
    let place = scene(WAITS);
    let mut engine = begun(&place, &[]);
    let id = only_run(&place).unwrap();
    let second = place.run(&["resume", &id]);
    expect(&second, 6);
    assert_eq!(place.read("calls"), "1 strategic 1\n");
    engine.signal(Signal::INT);
    engine.end();
}

#[test]
fn doing_it_again_is_a_new_job() {
    let place = with_repository(scene("usual")).file("notes.txt", "notes\n");
    let given = ["--repo", "repo", "--doc", "notes.txt", "--datasource", "db=postgres://u:pw12345@h/x"];
    let first = job(place, &given, 3);
    first.approve(3);
    let again = first.place.run(&["rerun", &first.id]);
    expect(&again, 3);
    let runs = first.place.run(&["runs", "--json"]).json();
    let id = runs["items"][0]["run_id"].as_str().unwrap().to_owned();
    assert_ne!(id, first.id);
    let shown = show(&first.place, &id);
    assert_eq!(shown["rerun_of"], first.id.as_str());
    assert_eq!(shown["phase"], "phase-1-strategic", "it begins at the beginning");
    let brief = first.brief(4);
    assert!(brief.contains("documents/notes.txt") && brief.contains("$CHECKREIN_DATASOURCE_DB"), "{brief}");
    let repository = data(&first.place, &format!("jobs/{id}/repository.git"));
    let branch = format!("checkrein/{id}/phase-1-strategic:.checkrein/job/documents/notes.txt");
    assert_eq!(super::git(&repository, &["show", &branch]), "notes");
    assert_eq!(first.status(), "pending_review", "the first one is as it was");
}

#[test]
fn a_queued_job_is_begun_by_whoever_takes_it_up() {
    let place = scene("usual");
    let queued = super::give(&place, &["--queue", "--json"]);
    expect(&queued, 0);
    let id = queued.json()["run_id"].as_str().unwrap().to_owned();
    assert_eq!(show(&place, &id)["status"], "created");
    expect(&place.run(&["worker", "--once"]), 0);
    assert_eq!(show(&place, &id)["status"], "pending_review");
    let ann = Ann::of(&place);
    let at = crate::run::waits_at(&place, &id);
    expect(&ann.says(&place, &["approve", &at]), 0);
    expect(&place.run(&["worker", "--once"]), 0);
    assert_eq!(show(&place, &id)["phase"], "phase-3-strategic");
}
