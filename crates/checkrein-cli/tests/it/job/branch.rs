//! Branches, merges and what the job leaves in them.

use serde_json::json;

use super::{Job, git, job, scene, with_repository};

fn in_repository(agent: &str, more: &[&str], code: i32) -> Job {
    job(with_repository(scene(agent)), &[&["--repo", "repo"], more].concat(), code)
}

#[test]
fn in_a_repository_of_its_own_branches_have_plain_names() {
    let job = job(scene("usual"), &["--autonomy", "dependent"], 3);
    assert_eq!(job.branches(), ["main", "phase-1-strategic"]);
    job.approve(3);
    assert_eq!(job.branches(), ["main", "phase-2-tactical"], "a merged branch is deleted");
    job.approve(3);
    assert_eq!(job.branches(), ["main", "phase-3-strategic"]);
    job.approve(0);
    assert_eq!(job.branches(), ["main"]);
    let report = job.place.run(&["report", &job.id, "--as", "json"]).stdout;
    assert!(report.contains(&format!("git clone {}", job.repository().display())), "{report}");
    let titles = job.titles("main");
    assert_eq!(titles, ["start of the job", "phase 1 (strategic): planned", "phase 2 (tactical): worked"]);
    let message = job.git(&["log", "-1", "--format=%B", "main"]);
    assert_eq!(message, "phase 2 (tactical): worked\n\n- write it\n- read it");
    let authors = job.git(&["log", "--format=%an <%ae>", "main"]);
    assert!(authors.lines().all(|line| line == "checkrein <engine@checkrein.invalid>"), "{authors}");
    assert_eq!(job.git(&["rev-list", "--merges", "--count", "main"]), "0");
}

#[test]
fn in_a_repository_that_was_there_they_stay_apart() {
    let job = in_repository("usual", &["--autonomy", "dependent"], 3);
    let name = |name: &str| format!("checkrein/{}/{name}", job.id);
    assert_eq!(job.branches(), [name("main"), name("phase-1-strategic")]);
    job.approve(3);
    assert_eq!(job.branches(), [name("main"), name("phase-2-tactical")]);
    let repo = job.place.path().join("repo");
    let shown = git(&repo, &["branch", "--format=%(refname:short)"]);
    assert_eq!(shown.lines().collect::<Vec<_>>(), [&name("main"), &name("phase-2-tactical"), "main"]);
}

#[test]
fn of_a_job_that_is_completed_only_the_result_stays_there() {
    let job = in_repository("usual", &[], 3);
    let name = |name: &str| format!("checkrein/{}/{name}", job.id);
    let clone = job.cloned("carla", &name("phase-1-strategic"));
    let pushed = super::push(&clone, "notes", "from carla\n");
    job.ann("approve", &["--digest", &pushed], 0);
    job.resume(3);
    let repo = job.place.path().join("repo");
    let shown = || git(&repo, &["branch", "--format=%(refname:short)"]);
    let waits = [name("main"), name("phase-3-strategic"), "main".to_owned()];
    assert_eq!(shown().lines().collect::<Vec<_>>(), waits);
    job.approve(0);
    assert_eq!(shown().lines().collect::<Vec<_>>(), [&name("result"), "main"]);
    assert_eq!(git(&repo, &["show", &format!("{}:notes", name("result"))]), "from carla");
}

#[test]
fn a_branch_of_a_completed_job_that_somebody_works_on_stays() {
    let job = in_repository("usual", &["--autonomy", "review"], 3);
    let main = format!("checkrein/{}/main", job.id);
    let (repo, beside) = (job.place.path().join("repo"), job.place.path().join("beside"));
    git(&repo, &["worktree", "add", "--quiet", beside.to_str().unwrap(), &main]);
    job.approve(0);
    assert!(git(&repo, &["branch", "--format=%(refname:short)"]).contains(&main));
}

#[test]
fn the_single_commits_of_phases_that_were_merged_as_they_are_come_back() {
    let agent = r#"case $n in
      2) for f in one two; do echo $f > $f; git add $f; git commit -qm "todo: $f"; done; work ;;
      *) usual ;;
    esac"#;
    for (how, own, merges) in [("squash", 0, "0"), ("merge", 1, "2"), ("rebase", 1, "0")] {
        let over = format!(r#"{{"merge":"{how}"}}"#);
        let job = in_repository(agent, &["--autonomy", "full", "--config-override", &over], 0);
        let (repo, result) = (job.place.path().join("repo"), format!("checkrein/{}/result", job.id));
        let titles = git(&repo, &["log", "--format=%s", &result]);
        for title in ["todo: one", "todo: two"] {
            assert_eq!(titles.lines().filter(|known| *known == title).count(), own, "{how}: {titles}");
        }
        assert!(!titles.contains("what the phase"), "{how}: {titles}");
        assert_eq!(git(&repo, &["rev-list", "--merges", "--count", &result]), merges, "{how}: {titles}");
        let names = git(&repo, &["ls-tree", "-r", "--name-only", &result]);
        assert_eq!(names, "one\nplan.md\nreadme\ntwo\nwork-2", "{how}");
    }
}

#[test]
fn the_todos_that_were_done_are_in_the_message() {
    let agent = r#"case $n in
      1) answer '{"next_todos":["one","two","three"]}' ;;
      2) echo x > x; answer '{"summary":"most of it\n\nThe third takes longer.","todos_done":[1,2]}' ;;
      *) complete ;;
    esac"#;
    let job = job(scene(agent), &["--autonomy", "full"], 0);
    let message = job.git(&["log", "-1", "--format=%B", "main"]);
    assert_eq!(message, "phase 2 (tactical): most of it\n\nThe third takes longer.\n\n- one\n- two");
    let archived = job.file("main", "archive/phase-2-tactical-todos.yaml");
    assert!(
        archived.contains("content: \"three\"") && archived.matches("done: true").count() == 2,
        "{archived}"
    );
}

#[test]
fn a_retrospective_is_part_of_the_message() {
    let agent = r#"case $n in
      2) mkdir -p archive; echo "It went well." > archive/phase-2-tactical-retrospective.md; work ;;
      *) usual ;;
    esac"#;
    let job = job(scene(agent), &["--autonomy", "full"], 0);
    let message = job.git(&["log", "-1", "--format=%B", "main"]);
    assert!(message.ends_with("- read it\n\nIt went well."), "{message}");
    assert_eq!(job.file("main", "archive/phase-2-tactical-retrospective.md"), "It went well.");
}

#[test]
fn a_phase_may_be_merged_in_other_ways() {
    let agent = r#"case $n in
      2) for f in one two; do echo $f > $f; git add $f; git commit -qm "todo: $f"; done; work ;;
      *) usual ;;
    esac"#;
    for (how, merges, own) in [("squash", "0", 0), ("merge", "2", 1), ("rebase", "0", 1)] {
        let over = format!(r#"{{"merge":"{how}"}}"#);
        let job = job(scene(agent), &["--autonomy", "full", "--config-override", &over], 0);
        assert_eq!(job.git(&["rev-list", "--merges", "--count", "main"]), merges, "{how}");
        let titles = job.titles("main");
        for title in ["todo: one", "todo: two"] {
            assert_eq!(titles.iter().filter(|known| *known == title).count(), own, "{how}: {titles:?}");
        }
        for file in ["one", "two", "work-2", "plan.md"] {
            assert!(job.files("main").contains(&file.to_owned()), "{how}: {file}");
        }
        assert_eq!(job.branches(), ["main"], "{how}");
    }
}

#[test]
fn starting_over_is_a_branch_and_a_review_of_its_own() {
    let job = job(scene("usual"), &[], 3);
    let first = job.waits_at();
    job.change(&["--start-over"], 3);
    let second = job.waits_at();
    assert_eq!(job.asked()["branch"], "phase-1-strategic-rev-2");
    assert_eq!((&job.asked()["revision"], &job.asked()["round"]), (&json!(2), &json!(2)));
    assert_ne!(first, second);
    assert!(job.brief(2).contains("shorter, please") && job.brief(2).contains("phase-1-strategic-rev-2"));
    job.change(&["--start-over"], 3);
    assert_eq!(job.asked()["branch"], "phase-1-strategic-rev-3");
    assert_eq!(
        job.branches(),
        ["main", "phase-1-strategic", "phase-1-strategic-rev-2", "phase-1-strategic-rev-3"]
    );
    job.change(&[], 3);
    assert_eq!(
        (&job.asked()["branch"], &job.asked()["round"]),
        (&json!("phase-1-strategic-rev-3"), &json!(4))
    );
    let rounds = ["1 strategic 1", "1 strategic 2", "1 strategic 3", "1 strategic 4"];
    assert_eq!(job.calls(), rounds, "CHECKREIN_ROUND counts on");
    job.approve(3);
    assert_eq!(job.titles("main")[1..].len(), 2, "each phase is merged once");
    assert!(!job.branches().contains(&"phase-1-strategic-rev-3".to_owned()));
}

#[test]
fn a_rejected_job_is_cancelled_and_keeps_its_branch() {
    let job = job(scene("usual"), &[], 3);
    let head = job.git(&["rev-parse", "phase-1-strategic"]);
    let said = job.ann("reject", &["-m", "not this way"], 0);
    assert!(said.stderr.contains("cancelled"), "{}", said.seen());
    assert_eq!(job.status(), "cancelled");
    assert_eq!(job.branches(), ["main", "phase-1-strategic"]);
    assert_eq!(job.git(&["rev-parse", "phase-1-strategic"]), head);
    assert_eq!(job.titles("main").len(), 1);
    let report = job.place.run(&["report", &job.id]).stdout;
    assert!(report.contains("rejected by ann") && !report.contains("waits for review"), "{report}");
    let refused = job.resume(6);
    assert!(refused.stderr.contains("rerun"), "{}", refused.seen());
    assert_eq!(job.calls().len(), 1);
}

#[test]
fn what_is_reviewed_is_on_the_branch_before_anybody_looks() {
    let agent = r##"case $n in
      1) answer '{"next_todos":["one: first","# two"]}' ;;
      2) work ;;
      3) plan ;;
      *) complete ;;
    esac"##;
    for existing in [false, true] {
        let place = if existing { with_repository(scene(agent)) } else { scene(agent) };
        let more: &[&str] = if existing { &["--repo", "repo"] } else { &[] };
        let job = job(place, &[more, &["--autonomy", "guided"]].concat(), 3);
        let (lead, own) = if existing {
            (format!("checkrein/{}/", job.id), ".checkrein/job/")
        } else {
            (String::new(), "")
        };
        let branch = format!("{lead}phase-1-strategic");
        let read = |branch: &str, name: &str| job.file(branch, &format!("{own}{name}"));
        let workspace = read(&branch, "workspace.md");
        assert!(
            workspace.contains("Autonomy: guided") && workspace.contains("Write a letter"),
            "{workspace}"
        );
        assert!(read(&branch, "plan.md").contains("1. one: first"), "a plan is made of the todos");
        let expected = "phase: \"phase-2-tactical\"\ntodos:\n  - id: 1\n    content: \"one: first\"\n  - id: 2\n    content: \"# two\"";
        assert_eq!(read(&branch, "todos.yaml"), expected);
        assert!(read(&branch, "tools/agent.md").contains("Command:"));
        assert_eq!(job.git(&["rev-parse", &branch]), job.asked()["head"].as_str().unwrap());
        job.approve(3);
        let branch = format!("{lead}phase-3-strategic");
        assert!(read(&branch, "archive/phase-2-tactical-todos.yaml").contains("done: true"));
        assert!(read(&branch, "archive/phase-2-tactical-retrospective.md").contains("worked"));
        assert!(read(&branch, "todos.yaml").contains("phase-4-tactical"));
        let names = job.files(&branch);
        let at_the_root = names.iter().any(|name| name == "workspace.md");
        assert_eq!(at_the_root, !existing, "{names:?}");
    }
}

#[test]
fn an_empty_phase_is_recorded_and_opens_no_review() {
    let agent = r#"case $n in 2) answer '{}' ;; *) usual ;; esac"#;
    let job = job(scene(agent), &["--autonomy", "review"], 3);
    assert_eq!(job.calls(), ["1 strategic 1", "2 tactical 1", "3 strategic 1"]);
    let landed = job.events_of("phase_landed");
    assert_eq!(landed.len(), 2);
}
