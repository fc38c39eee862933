//! What a request for changes leads to, after each kind of hold, and what the agent is told.

use serde_json::json;

use super::{job, scene};
use crate::run::{expect, texts};

/// Plans, works, plans again, works, and is done in phase 5; asked again, it changes something.
const FIVE: &str = r#"case $n.$CHECKREIN_PHASE_KIND in
  1.* | 3.*) plan ;;
  5.*) echo "$r" > report; complete ;;
  *.strategic) answer '{"summary":"what to correct","next_todos":["cut the end","check it"]}' ;;
  *) work ;;
esac"#;

const FEEDBACK: [&str; 4] =
    ["Process the feedback", "Evaluate the outputs", "Adapt the plan", "Create corrective todos"];

#[test]
fn the_first_plan_is_planned_again() {
    let job = job(scene(FIVE), &[], 3);
    let first = job.review();
    assert_eq!((&first["round"], &first["deliverable"]["context"]), (&json!(1), &json!("initial_strategic")));
    job.change(&[], 3);
    assert_eq!(job.calls(), ["1 strategic 1", "1 strategic 2"]);
    let second = job.review();
    assert_ne!(second["id"], first["id"], "each round is a checkpoint of its own");
    assert_eq!((&second["round"], &second["phase"]), (&json!(2), &json!("phase-1-strategic")));
    assert_eq!(second["deliverable"]["branch"], first["deliverable"]["branch"]);
    assert_eq!(job.branches(), ["main", "phase-1-strategic"]);
    let before = job.place.run(&["checkpoint", "show", first["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(
        (&before["status"], &before["reason"]),
        (&json!("changes_requested"), &json!("shorter, please"))
    );

    let feedback = job.file("phase-1-strategic", "feedback.md");
    assert!(feedback.contains("ann requested changes") && feedback.contains("shorter, please"), "{feedback}");
    let brief = job.brief(2);
    for (number, todo) in (1..).zip(FEEDBACK) {
        assert!(brief.contains(&format!("{number}. [ ] {todo}")), "{brief}");
    }
    assert!(brief.contains("shorter, please") && brief.contains("Round: 2"), "{brief}");
    assert_eq!(job.file("phase-1-strategic", "plan.md"), "# Plan of 1.2");
    job.approve(3);
    assert_eq!(job.calls()[2..], ["2 tactical 1", "3 strategic 1", "4 tactical 1", "5 strategic 1"]);
}

#[test]
fn a_later_plan_is_planned_again() {
    let job = job(scene(FIVE), &["--autonomy", "guided"], 3);
    job.approve(3);
    assert_eq!(job.asked()["context"], "strategic");
    job.change(&[], 3);
    assert_eq!(job.calls(), ["1 strategic 1", "2 tactical 1", "3 strategic 1", "3 strategic 2"]);
    assert_eq!((&job.asked()["round"], &job.asked()["phase_number"]), (&json!(2), &json!(3)));
    assert!(job.brief(4).contains("4. [ ] Create corrective todos"));
    job.approve(3);
    assert_eq!(job.calls().last().unwrap(), "5 strategic 1");
}

#[test]
fn work_is_corrected_on_its_own_branch_after_planning_how() {
    let job = job(scene(FIVE), &["--autonomy", "dependent"], 3);
    job.approve(3);
    assert_eq!(job.asked()["context"], "tactical");
    let main = job.git(&["rev-parse", "main"]);
    job.change(&[], 3);
    assert_eq!(job.calls(), ["1 strategic 1", "2 tactical 1", "2 strategic 2", "2 tactical 2"]);
    let asked = job.asked();
    assert_eq!((&asked["phase"], &asked["round"]), (&json!("phase-2-tactical"), &json!(2)));
    assert_eq!(job.branches(), ["main", "phase-2-tactical"]);
    assert_eq!(job.git(&["rev-parse", "main"]), main, "nothing is merged before it is approved");
    assert_eq!(job.file("phase-2-tactical", "work-2"), "work of 2.2");
    let (planning, doing) = (job.brief(3), job.brief(4));
    assert!(planning.contains("shorter, please") && planning.contains("1. [ ] Process the feedback"));
    assert!(doing.contains("1. [ ] cut the end") && !doing.contains("Process the feedback"), "{doing}");
    assert_eq!(texts(&asked["todos"], "content"), ["cut the end", "check it"]);
    job.approve(3);
    assert_eq!(job.asked()["phase"], "phase-3-strategic");
    let squashed = job.titles("main").into_iter().filter(|title| title.starts_with("phase 2")).count();
    assert_eq!(squashed, 1);
}

#[test]
fn the_end_is_accepted_again_once_something_was_done() {
    let agent = r#"case $n.$call in
      1.1) complete ;;
      1.2 | 1.3) complete ;;
      *) echo better > letter; complete ;;
    esac"#;
    let job = job(scene(agent), &["--autonomy", "review"], 3);
    assert_eq!(job.asked()["context"], "job_complete");
    let paused = job.change(&[], 7);
    assert!(paused.stderr.contains("paused"), "{}", paused.seen());
    assert_eq!(job.status(), "paused", "it did nothing about it, twice");
    job.resume(3);
    let asked = job.asked();
    assert_eq!((&asked["context"], &asked["round"]), (&json!("job_complete"), &json!(2)));
    job.approve(0);
    assert_eq!(job.file("main", "letter"), "better");
}

#[test]
fn after_the_end_there_may_be_more_to_do() {
    let agent = r#"case $n.$r in
      1.1) complete ;;
      1.2) plan ;;
      2.*) work ;;
      *) complete ;;
    esac"#;
    let job = job(scene(agent), &["--autonomy", "review"], 3);
    job.change(&[], 3);
    assert_eq!(job.asked()["context"], "initial_strategic");
    job.approve(3);
    assert_eq!(job.calls()[2..], ["2 tactical 1", "3 strategic 1"]);
    assert_eq!(job.asked()["context"], "job_complete");
}

#[test]
fn a_changed_phase_holds_again_whatever_the_level() {
    let job = job(scene("usual"), &[], 3);
    expect(&job.place.run(&["level", &job.id, "full"]), 0);
    job.change(&[], 3);
    assert_eq!(job.asked()["round"], 2);
    assert!(job.asked()["reason"].as_str().unwrap().contains("ann requested changes"), "{}", job.asked());
    job.approve(0);
}

#[test]
fn a_round_without_a_change_says_so() {
    let agent = r#"case $n.$r in 1.1) plan ;; *) answer '{"next_todos":["write it","read it"]}' ;; esac"#;
    let job = job(scene(agent), &[], 3);
    assert_eq!(job.asked()["no_change_since_last_round"], false);
    job.change(&[], 3);
    assert_eq!(job.asked()["no_change_since_last_round"], true, "{}", job.asked());
}

#[test]
fn an_attempt_is_told_where_it_is() {
    let agent = r#"env | grep ^CHECKREIN_ | sort > "$here/env.$call"
      env | grep -v ^CHECKREIN_ | cut -d= -f1 | sort | tr '\n' ' ' > "$here/others.$call"
      cmp "$CHECKREIN_BRIEF" "$here/brief.$call" || touch "$here/differ"
      pwd > "$here/pwd.$call"; git branch --show-current > "$here/branch.$call"
      usual"#;
    let place = scene(agent).env("SECRET_THING", "x").env("WANTED", "y").env("CHECKREIN_PAGER", "cat");
    let over = ["--config-override", r#"{"environment":["WANTED","CHECKREIN_PAGER"]}"#];
    let job = job(place, &over, 3);
    job.change(&[], 3);
    job.approve(3);
    assert!(!job.place.path().join("differ").exists(), "standard input is the brief");
    let rows =
        [("1", "strategic", "1"), ("1", "strategic", "2"), ("2", "tactical", "1"), ("3", "strategic", "1")];
    for (call, (number, kind, round)) in (1..).zip(rows) {
        let told = job.place.read(&format!("env.{call}"));
        let value = |name: &str| {
            let line = told.lines().find_map(|line| line.strip_prefix(&format!("CHECKREIN_{name}=")));
            line.unwrap_or_else(|| panic!("{name}: {told}")).to_owned()
        };
        assert_eq!(value("JOB_ID"), job.id);
        let where_it_is = (value("PHASE_NUMBER"), value("PHASE_KIND"), value("ROUND"), value("AUTONOMY"));
        assert_eq!(where_it_is, (number.into(), kind.into(), round.into(), "partial".into()));
        assert!(value("BRIEF").ends_with(".md") && value("RESULT").ends_with(".json"));
        assert!(!told.contains("PAGER"), "{told}");
        let others = job.place.read(&format!("others.{call}"));
        let ours: Vec<&str> = others
            .split_whitespace()
            .filter(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name))
            .collect();
        assert_eq!(ours, ["HOME", "PATH", "WANTED"]);
        let branch = job.place.read(&format!("branch.{call}"));
        assert_eq!(branch.trim(), format!("phase-{number}-{kind}"));
    }
    assert!(job.brief(1).contains("Write a letter") && job.brief(3).contains("1. [ ] write it"));
}
