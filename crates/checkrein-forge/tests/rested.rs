//! What is kept of one clone for the next, and what is not.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use support::*;

const FILES: [(&str, &str); 3] = [(".gitignore", "built/\n"), ("a", "one\n"), ("d/b", "two\n")];

/// An agent has been here, its work was taken, and its files rest.
fn rested(work: impl FnOnce(&Job)) -> Job {
    let job = Job::with(&FILES);
    job.write("built/thing", "made in the phase before");
    work(&job);
    let collected = job.collect();
    job.bare.rest_clone(&job.clone, &collected).unwrap();
    assert!(!job.clone.exists());
    job
}

fn next_clone(job: &Job) {
    let start = job.bare.create_clone(&job.clone, &job.branch, &agent()).unwrap();
    assert_eq!(start, job.head());
    assert_eq!(job.agent_git(&["status", "--porcelain"]), "");
    assert_eq!(job.agent_git(&["rev-parse", "HEAD"]), job.head().to_string());
    job.agent_git(&["fsck", "--strict"]);
    assert!(rests(job).is_empty(), "nothing is left beside it");
}

fn is_kept(job: &Job) -> bool {
    job.clone.join("built/thing").exists()
}

fn rests(job: &Job) -> Vec<String> {
    let names = fs::read_dir(job.dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "clone" && name != "job.git" && name != "outside").collect()
}

fn inode(path: &Path) -> u64 {
    path.metadata().unwrap().ino()
}

#[test]
fn files_stay_and_only_what_changed_is_written() {
    let mut before = 0;
    let job = rested(|job| {
        job.write("new", "three\n");
        before = inode(&job.clone.join("a"));
    });
    job.person_pushes(&[("d/b", "by hand\n")]);
    next_clone(&job);
    assert!(is_kept(&job));
    assert_eq!(inode(&job.clone.join("a")), before, "an unchanged file was written again");
    assert_eq!(fs::read_to_string(job.clone.join("d/b")).unwrap(), "by hand\n");
    assert_eq!(fs::read_to_string(job.clone.join("new")).unwrap(), "three\n");
}

#[test]
fn a_file_that_is_gone_takes_its_directory_along() {
    let job = rested(|_| ());
    let elsewhere = Job { clone: job.dir.path().join("outside/clone"), ..job };
    elsewhere.bare.create_clone(&elsewhere.clone, &elsewhere.branch, &agent()).unwrap();
    fs::remove_dir_all(elsewhere.clone.join("d")).unwrap();
    elsewhere.collect();
    let job = Job { clone: elsewhere.dir.path().join("clone"), ..elsewhere };
    next_clone(&job);
    assert!(is_kept(&job) && !job.clone.join("d").exists());
}

#[test]
fn nothing_of_the_agents_repository_is_kept() {
    let job = rested(|job| {
        let ran = job.dir.path().join("outside");
        let command = format!("touch {}", ran.display());
        job.agent_git(&["config", "core.fsmonitor", &command]);
        job.agent_git(&["config", "filter.x.clean", &command]);
        job.write(".git/hooks/post-checkout", format!("#!/bin/sh\n{command}\n"));
        let hook = job.clone.join(".git/hooks/post-checkout");
        fs::set_permissions(hook, Permissions::from_mode(0o755)).unwrap();
        job.write(".git/info/attributes", "* filter=x\n");
    });
    job.person_pushes(&[("a", "by hand\n")]);
    next_clone(&job);
    assert!(is_kept(&job));
    assert!(!job.dir.path().join("outside").exists(), "something of the agent's ran");
    assert!(!job.clone.join(".git/hooks").exists());
    assert_eq!(job.agent_git(&["config", "--get", "user.name"]), "agent");
}

#[test]
fn a_link_among_what_is_ignored_leads_nowhere() {
    let job = rested(|job| {
        fs::create_dir(job.dir.path().join("outside")).unwrap();
        symlink(job.dir.path().join("outside"), job.clone.join("built/way")).unwrap();
    });
    let elsewhere = Job { clone: job.dir.path().join("outside/clone"), ..job };
    elsewhere.bare.create_clone(&elsewhere.clone, &elsewhere.branch, &agent()).unwrap();
    elsewhere.write("built/way/planted", "x");
    elsewhere.agent_git(&["add", "-f", "built/way/planted"]);
    elsewhere.agent_git(&["commit", "-qm", "planted"]);
    elsewhere.collect();
    let job = Job { clone: elsewhere.dir.path().join("clone"), ..elsewhere };
    next_clone(&job);
    assert!(!is_kept(&job), "a new start was due");
    assert!(!job.dir.path().join("outside/planted").exists());
    assert_eq!(fs::read_to_string(job.clone.join("built/way/planted")).unwrap(), "x");
}

#[test]
fn what_a_file_was_linked_to_stays_as_it_was() {
    let job = rested(|job| {
        fs::write(job.dir.path().join("outside"), "one\n").unwrap();
        fs::remove_file(job.clone.join("a")).unwrap();
        fs::hard_link(job.dir.path().join("outside"), job.clone.join("a")).unwrap();
    });
    job.person_pushes(&[("a", "by hand\n")]);
    next_clone(&job);
    assert!(is_kept(&job));
    assert_eq!(fs::read_to_string(job.dir.path().join("outside")).unwrap(), "one\n");
}

#[test]
fn a_new_start_where_more_is_there_than_was_taken() {
    type Work = fn(&Job);
    let rows: [(&str, Work); 3] = [
        ("a nested repository", |job| drop(sh(&job.clone, &["init", "-q", "nested"]))),
        ("a pipe", |job| {
            let made = std::process::Command::new("mkfifo").arg(job.clone.join("pipe")).status();
            assert!(made.unwrap().success());
        }),
        ("a link that leaves", |job| symlink("/etc/passwd", job.clone.join("way")).unwrap()),
    ];
    for (what, work) in rows {
        let job = rested(work);
        assert!(rests(&job).is_empty(), "{what}");
        next_clone(&job);
        assert!(!is_kept(&job), "{what}");
    }
}

#[test]
fn a_new_start_where_other_files_are_ignored_now() {
    let job = rested(|_| ());
    job.person_pushes(&[(".gitignore", "\n")]);
    next_clone(&job);
    assert!(!is_kept(&job));
}

#[test]
fn what_rests_can_be_discarded() {
    let job = rested(|_| ());
    job.bare.discard_rested(&job.clone).unwrap();
    assert!(rests(&job).is_empty());
    next_clone(&job);
    assert!(!is_kept(&job));
}

#[test]
fn references_are_found_where_git_put_them() {
    let job = Job::with(&FILES);
    let (branch, main) = (job.head(), job.main());
    sh(job.bare.path(), &["pack-refs", "--all"]);
    assert_eq!((job.head(), job.main()), (branch.clone(), main));
    let pushed = job.person_pushes(&[("a", "by hand\n")]);
    assert_ne!(pushed, branch);
    let names: Vec<String> = job.bare.branches().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["main", job.branch.as_str()]);
    sh(job.bare.path(), &["pack-refs", "--all"]);
    assert_eq!(job.head(), pushed);
}
