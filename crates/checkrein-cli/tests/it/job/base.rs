//! The branch a job started from moved on and does not fit its result (R9).

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::{Job, PRELUDE, commit, git, job, scene, try_git, with_repository};

const AGENT: &str = r#"case $n in 2) echo agent > readme; work ;; *) usual ;; esac"#;

/// A job that is approved while carla changed the same lines; what carla committed.
fn conflicting(level: &str) -> (Job, PathBuf, String) {
    let place = with_repository(scene(AGENT));
    let repo = place.path().join("repo");
    let job = job(place, &["--repo", "repo", "--autonomy", level], 3);
    fs::write(repo.join("readme"), "from carla\n").unwrap();
    let carlas = commit(&repo, "meanwhile");
    git(&repo, &["switch", "--quiet", "--create", "other"]);
    job.approve(3);
    (job, repo, carlas)
}

/// The branch under review, as carla has it.
fn branch(job: &Job) -> String {
    format!("checkrein/{}/{}", job.id, job.asked()["branch"].as_str().unwrap())
}

/// Carla merges `main` into the branch under review; the commit.
fn settle(job: &Job, repo: &std::path::Path, text: &str) -> String {
    git(repo, &["switch", "--quiet", &branch(job)]);
    assert_ne!(try_git(repo, &["merge", "--quiet", "main"]).1, 0);
    fs::write(repo.join("readme"), text).unwrap();
    let settled = commit(repo, "settle");
    git(repo, &["switch", "--quiet", "other"]);
    settled
}

#[test]
fn the_job_stays_held_and_shows_the_conflict() {
    let (job, repo, carlas) = conflicting("review");
    assert_eq!(job.status(), "pending_review");
    let asked = job.asked();
    assert_eq!(asked["conflict"]["files"], json!(["readme"]), "{asked}");
    assert_eq!(asked["conflict"]["base"], "main");
    assert_eq!(asked["round"], 2);
    assert_eq!(asked["context"], "job_complete");
    let reason = asked["reason"].as_str().unwrap();
    assert_eq!(reason, "The result does not fit branch `main` any more: conflict in readme");
    assert_eq!(git(&repo, &["rev-parse", "main"]), carlas, "the branch is as carla left it");
    assert_eq!(git(&repo, &["branch", "--list", "checkrein/*/result"]), "");
    let seen = job.place.run(&["review", &job.id, "--plain"]).stdout;
    assert!(seen.contains("Branch main changed the same lines since the job began"), "{seen}");
    assert!(seen.contains(&format!("Merge branch main into {}", branch(&job))), "{seen}");
    assert!(seen.contains("<<<<<<<") && seen.contains("from carla"), "{seen}");
    let refused = job.ann("approve", &[], 6);
    assert!(refused.stderr.contains("cannot be merged into branch `main`: there is a conflict in readme"));
    assert!(refused.stderr.contains("hint: merge that branch into the branch"), "{}", refused.seen());
    assert_eq!((job.status().as_str(), &job.asked()["round"]), ("pending_review", &json!(2)));
}

#[test]
fn a_person_settles_it_on_the_branch_under_review() {
    let (job, repo, carlas) = conflicting("review");
    let settled = settle(&job, &repo, "both\n");
    let seen = job.place.run(&["review", &job.id, "--plain"]).stdout;
    assert!(!seen.contains("Conflict in"), "{seen}");
    job.ann("approve", &["--digest", &settled], 0);
    job.resume(0);
    assert_eq!(job.status(), "completed");
    assert_eq!(git(&repo, &["show", "main:readme"]), "both");
    assert_eq!(git(&repo, &["show", "main:work-2"]), "work of 2.1");
    assert_eq!(try_git(&repo, &["merge-base", "--is-ancestor", &carlas, "main"]).1, 0);
    assert!(!git(&repo, &["ls-tree", "-r", "--name-only", "main"]).contains(".checkrein"));
    assert!(!git(&repo, &["log", "--format=", "--name-only", "main"]).contains(".checkrein/"));
}

#[test]
fn a_branch_that_moved_again_is_looked_at_again() {
    let (job, repo, _) = conflicting("review");
    let settled = settle(&job, &repo, "both\n");
    git(&repo, &["switch", "--quiet", "main"]);
    fs::write(repo.join("readme"), "from carla, again\n").unwrap();
    commit(&repo, "again");
    git(&repo, &["switch", "--quiet", "other"]);
    job.ann("approve", &["--digest", &settled], 6);
    assert_eq!(job.asked()["conflict"]["base"], "main");
    let settled = settle(&job, &repo, "both, again\n");
    job.ann("approve", &["--digest", &settled], 0);
    job.resume(0);
    assert_eq!(git(&repo, &["show", "main:readme"]), "both, again");
}

#[test]
fn the_agent_settles_it_when_changes_are_requested() {
    let (job, repo, carlas) = conflicting("review");
    let agent = r#"case $n.$r in
      3.1) usual ;;
      3.*) git merge -q "checkrein/$CHECKREIN_JOB_ID/base" > "$here/merged" 2>&1
        echo both > readme; git add readme; git commit -qm 'merge base'; complete ;;
      *) usual ;;
    esac"#;
    fs::write(job.place.path().join("agent"), format!("{PRELUDE}{agent}\n")).unwrap();
    job.change(&[], 3);
    let brief = job.brief(4);
    assert!(brief.contains(&format!("merge `checkrein/{}/base` into it", job.id)), "{brief}");
    let asked = job.asked();
    assert_eq!(asked["conflict"], json!(null), "{asked}");
    let files: Vec<&str> =
        asked["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    assert!(files.contains(&"readme") && files.contains(&"work-2"), "{files:?}");
    job.approve(0);
    assert_eq!(git(&repo, &["show", "main:readme"]), "both");
    assert_eq!(try_git(&repo, &["merge-base", "--is-ancestor", &carlas, "main"]).1, 0);
}

#[test]
fn a_branch_that_fits_again_takes_the_result() {
    let (job, repo, carlas) = conflicting("review");
    git(&repo, &["switch", "--quiet", "main"]);
    git(&repo, &["revert", "--no-edit", &carlas]);
    git(&repo, &["switch", "--quiet", "other"]);
    job.approve(0);
    assert_eq!(job.status(), "completed");
    assert_eq!(git(&repo, &["show", "main:readme"]), "agent");
}

#[test]
fn it_holds_at_the_level_that_never_asks() {
    let place = with_repository(scene(&format!(
        r#"case $n in 3) until test -f "$here/go"; do sleep 0.02; done ;; esac; {AGENT}"#
    )));
    let repo = place.path().join("repo");
    let agent = super::agent_of(&place);
    let queued =
        place.run(&["job", "Write", "--agent", &agent, "--repo", "repo", "--autonomy", "full", "--queue"]);
    crate::run::expect(&queued, 0);
    fs::write(repo.join("readme"), "from carla\n").unwrap();
    commit(&repo, "meanwhile");
    fs::write(place.path().join("go"), "").unwrap();
    let id = queued.stdout.trim().to_owned();
    crate::run::expect(&place.run(&["resume", &id]), 3);
    let shown = place.run(&["show", &id, "--json"]).json();
    assert_eq!(shown["status"], "pending_review");
}
