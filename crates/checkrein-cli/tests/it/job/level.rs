//! Where each level holds, whose word counts, and what a change while it runs does.

use std::fs;

use super::{Job, agent_of, commit, give, id_of, job, scene, with_repository};
use crate::place::{Place, Ran};
use crate::run::{background, expect, logged, of_type, only_run, show, until};

/// Plans, works, plans again, works, and is done in phase 5.
const FIVE: &str = r#"case $n in
  1 | 3) plan ;;
  5) complete ;;
  *) work ;;
esac"#;

/// Approves until it is done; the phases at whose end it held, with `!` where the job was complete.
fn holds(job: &Job) -> String {
    let mut held = Vec::new();
    while job.status() == "pending_review" {
        let asked = job.asked();
        let complete = if asked["context"] == "job_complete" { "!" } else { "" };
        held.push(format!("{}{complete}", asked["phase_number"]));
        job.ann("approve", &[], 0);
        job.place.run(&["resume", &job.id]);
    }
    assert_eq!(job.status(), "completed");
    held.join(" ")
}

#[test]
fn each_level_holds_where_its_row_says() {
    for (level, expected) in [
        ("full", ""),
        ("review", "5!"),
        ("partial", "1 5!"),
        ("guided", "1 3 5!"),
        ("dependent", "1 2 3 4 5!"),
    ] {
        let code = if expected.is_empty() { 0 } else { 3 };
        let job = job(scene(FIVE), &["--autonomy", level], code);
        assert_eq!(holds(&job), expected, "{level}");
        assert_eq!(job.calls().len(), 5, "{level}: no phase is worked twice");
    }
}

#[test]
fn a_level_of_ones_own_holds_where_it_says() {
    for (hold_at, expected) in [
        (r#"[{"on":"phase","every":2}]"#, "2"),
        (r#"[{"on":"phase","phase_kind":"tactical","first":true}]"#, "2"),
        (r#"[{"on":"complete"}]"#, "3!"),
        (r#"[{"on":"phase","milestone":"agreed"}]"#, "1"),
        (r#"[{"on":"phase","phase_kind":"tactical","confidence_below":0.5}]"#, "2"),
        ("[]", ""),
    ] {
        let agent = r#"case $n in
          1) answer '{"next_todos":["a"],"milestone":"agreed","confidence":0.9}' ;;
          2) answer '{"confidence":0.4}' ;;
          *) complete ;;
        esac"#;
        let code = if expected.is_empty() { 0 } else { 3 };
        let custom = format!(r#"{{"level":"custom","hold_at":{hold_at}}}"#);
        let job = job(scene(agent), &["--autonomy", &custom], code);
        assert_eq!(holds(&job), expected, "{hold_at}");
    }
}

/// The level a job would have that is given like this.
fn level_of(place: &Place, more: &[&str]) -> String {
    let queued = queue(place, more);
    expect(&queued, 0);
    show(place, queued.stdout.trim())["policy"]["level"].as_str().unwrap().to_owned()
}

fn queue(place: &Place, more: &[&str]) -> Ran {
    give(place, &[&["--queue"], more].concat())
}

#[test]
fn experts_have_levels_of_their_own() {
    let place = scene("");
    for (more, level) in [
        (&["--expert", "debugger"][..], "full"),
        (&["--expert", "validator"], "review"),
        (&["--expert", "researcher"], "partial"),
        (&["--expert", "writer"], "partial"),
        (&["--expert", "coder"], "partial"),
        (&[], "partial"),
    ] {
        assert_eq!(level_of(&place, more), level, "{more:?}");
    }
}

#[test]
fn the_nearest_word_counts() {
    let place = with_repository(scene(""));
    let repo = place.path().join("repo");
    let here = ["--repo", "repo"];
    let with = |more: &[&str]| level_of(&place, &[&here, more].concat());
    assert_eq!(with(&[]), "partial");
    fs::write(repo.join("checkrein.yaml"), "autonomy: {job: dependent}\n").unwrap();
    commit(&repo, "settings");
    assert_eq!(with(&[]), "dependent");
    let expert = ["--expert", "debugger"];
    assert_eq!(with(&expert), "full");
    let over = ["--expert", "debugger", "--config-override", r#"{"autonomy":"review"}"#];
    assert_eq!(with(&over), "review");
    assert_eq!(with(&[&over[..], &["--autonomy", "guided"]].concat()), "guided");
}

#[test]
fn an_invalid_level_is_refused_with_the_list() {
    let place = with_repository(scene(""))
        .file("bad/.checkrein/experts/hasty/config.yaml", "autonomy: hasty\n")
        .file("home/.config/checkrein/experts/hasty/config.yaml", "autonomy: hasty\n");
    for more in [
        &["--autonomy", "sometimes"][..],
        &["--autonomy", "manual"],
        &["--autonomy", r#"{"level":"often"}"#],
        &["--config-override", r#"{"autonomy":"sometimes"}"#],
        &["--expert", "hasty"],
    ] {
        let refused = give(&place, more);
        expect(&refused, 2);
        for level in ["full", "review", "partial", "guided", "dependent"] {
            assert!(refused.stderr.contains(level), "{more:?}: {}", refused.seen());
        }
    }
    assert_eq!(only_run(&place), None, "nothing was recorded");
}

#[test]
fn a_job_has_words_of_its_own_for_where_it_stands() {
    let place = scene(r#"touch "$here/began"; until test -f "$here/go"; do sleep 0.02; done; usual"#);
    let mut engine = background(&place, &["job", "Write", "--agent", &agent_of(&place)]);
    until(|| place.path().join("began").exists().then_some(()));
    let id = only_run(&place).unwrap();
    let words = || {
        let listed = place.run(&["runs", "--json"]).json()["items"][0]["status"].clone();
        let shown = show(&place, &id)["status"].clone();
        assert_eq!(listed, shown);
        assert!(place.run(&["show", &id]).stdout.contains(shown.as_str().unwrap()));
        shown.as_str().unwrap().to_owned()
    };
    assert_eq!(words(), "processing");
    fs::write(place.path().join("go"), "").unwrap();
    expect(&engine.end(), 3);
    assert_eq!(words(), "pending_review");
    let inbox = place.run(&["inbox", "--json"]);
    assert!(inbox.stdout.contains(&id), "{}", inbox.seen());
}

#[test]
fn a_level_changed_while_it_is_held_releases_nothing() {
    let job = job(scene("usual"), &[], 3);
    let at = job.waits_at();
    let changed = job.place.run(&["level", &job.id, "full"]);
    expect(&changed, 0);
    assert!(changed.stderr.contains("still waits"), "{}", changed.seen());
    assert_eq!((job.status(), job.waits_at()), ("pending_review".to_owned(), at));
    expect(&job.place.run(&["resume", &job.id]), 3);
    job.approve(0);
    assert_eq!(job.status(), "completed");
    assert!(job.file("main", "workspace.md").contains("Autonomy: full"), "the agent is told");
    let brief = job.brief(2);
    assert!(brief.contains("Level: full") && brief.contains("Autonomy: full"), "{brief}");
    assert!(!brief.contains("Autonomy: partial"), "{brief}");
    let events = job.events_of("policy_changed");
    assert_eq!((events.len(), &events[0]["level"]), (1, &serde_json::json!("full")));
    expect(&job.place.run(&["level", &job.id, "sometimes"]), 2);
}

#[test]
fn a_level_changed_while_the_agent_works_disturbs_nobody() {
    let place = scene(
        r#"case $n in 2) touch "$here/began"; until test -f "$here/go"; do sleep 0.02; done ;; esac; usual"#,
    );
    let mut engine =
        background(&place, &["job", "Write", "--agent", &agent_of(&place), "--autonomy", "full"]);
    until(|| place.path().join("began").exists().then_some(()));
    let id = only_run(&place).unwrap();
    expect(&place.run(&["level", &id, "guided"]), 0);
    expect(&place.run(&["level", &id, "dependent"]), 0);
    fs::write(place.path().join("go"), "").unwrap();
    let ended = engine.end();
    expect(&ended, 3);
    assert_eq!(place.read("calls"), "1 strategic 1\n2 tactical 1\n", "the attempt goes on");
    assert_eq!(ended.stderr.matches("phase phase-1-strategic").count(), 1, "told once: {}", ended.seen());
    let logged = of_type(&logged(&place, &id), "step-response");
    assert_eq!(logged.len(), 2, "recorded once: {logged:?}");
    assert_eq!(show(&place, &id)["policy"]["level"], "dependent", "it acts from this boundary on");
}

#[test]
fn an_agent_cannot_change_its_level() {
    let agent = r#"checkrein level "$CHECKREIN_JOB_ID" full > "$here/tried" 2>&1
      env -i PATH="$PATH" HOME="$HOME" checkrein level "$CHECKREIN_JOB_ID" full >> "$here/tried" 2>&1
      env -i PATH="$PATH" HOME="$HOME" checkrein approve "$CHECKREIN_JOB_ID.1" >> "$here/tried" 2>&1
      usual"#;
    let job = job(scene(agent), &[], 3);
    assert_eq!(job.show()["policy"]["level"], "partial");
    assert_eq!(job.place.read("tried").matches("from inside an agent's attempt").count(), 3);
    assert_eq!(id_of(&job.given), job.id);
}
