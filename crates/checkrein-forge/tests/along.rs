//! What an agent has committed is taken while it still works.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod support;

use std::fs;
use std::os::unix::fs::symlink;

use checkrein_forge::*;
use support::*;

fn take(job: &Job) -> Option<Oid> {
    job.bare.take_commits(&job.request(&agent(), &engine(), Limits::default())).unwrap()
}

fn commit(job: &Job, name: &str) {
    job.write(name, name);
    job.agent_git(&["add", "-A"]);
    job.agent_git(&["commit", "-q", "-m", name]);
}

fn titles(job: &Job, since: &Oid) -> Vec<String> {
    let log = job.bare.log(Some(since), &job.head(), 20).unwrap();
    log.iter().rev().map(|commit| commit.title().to_owned()).collect()
}

#[test]
fn commits_come_as_they_are_made_and_files_at_the_end() {
    let job = Job::with(&[("a", "1")]);
    let start = job.head();
    job.write("loose", "not committed");
    assert_eq!(take(&job), None);
    job.agent_git(&["add", "loose"]);
    job.agent_git(&["commit", "-q", "-m", "first"]);
    let first = take(&job).unwrap();
    assert_eq!(job.head(), first);
    assert_eq!(take(&job), None, "twice is once");
    commit(&job, "second");
    commit(&job, "third");
    job.write("rest", "x");
    let third = take(&job).unwrap();
    assert!(job.bare.contains(&third, &first).unwrap());
    assert_eq!(job.files(&third), ["a=1", "loose=not committed", "second=second", "third=third"]);
    let log = job.bare.log(Some(&start), &third, 20).unwrap();
    assert!(log.iter().all(|commit| commit.author_email == "agent@checkrein.invalid"));
    let collected = job.collect();
    assert_eq!((collected.landing, collected.findings), (Landing::Forward, vec![]));
    assert_eq!(titles(&job, &start), ["first", "second", "third", "what was left"]);
}

/// What was pushed stays as it is; what the agent made of it comes after it.
#[test]
fn commits_that_are_made_anew_come_after_those_that_were_taken() {
    let job = Job::with(&[("a", "1")]);
    let start = job.head();
    commit(&job, "first");
    commit(&job, "second");
    let taken = take(&job).unwrap();
    job.write("second", "better");
    job.agent_git(&["commit", "-q", "-a", "--amend", "-m", "second, better"]);
    let amended = take(&job).unwrap();
    assert!(job.bare.contains(&amended, &taken).unwrap());
    assert_eq!(titles(&job, &start), ["first", "second", "second, better"]);
    // On a branch of its own it works for the same phase.
    job.agent_git(&["checkout", "-q", "-b", "own"]);
    commit(&job, "third");
    let own = take(&job).unwrap();
    assert!(job.bare.contains(&own, &amended).unwrap());
    assert_eq!(titles(&job, &start), ["first", "second", "second, better", "third"]);
    // All of it taken back.
    job.agent_git(&["reset", "-q", "--hard", start.as_str()]);
    assert_eq!(take(&job), None);
    assert_eq!(take(&job), None);
    job.collect();
    assert!(job.bare.contains(&job.head(), &own).unwrap());
    assert_eq!(job.files(&job.head()), ["a=1"]);
}

#[test]
fn what_a_person_pushed_meanwhile_waits_for_the_end() {
    let job = Job::with(&[("a", "1")]);
    commit(&job, "first");
    take(&job).unwrap();
    job.person_pushes(&[("theirs", "2")]);
    commit(&job, "second");
    assert_eq!(take(&job), None);
    assert_eq!(job.collect().landing, Landing::Merged);
    assert_eq!(job.files(&job.head()), ["a=1", "first=first", "second=second", "theirs=2"]);
}

/// Nothing in a clone is followed, waited for or run while its agent could put it there.
#[test]
fn a_clone_that_leads_elsewhere_gives_nothing() {
    let other = Job::with(&[("secret", "theirs")]);
    commit(&other, "secret-2");
    for trick in ["objects", "one", "pipe", "config"] {
        let job = Job::with(&[("a", "1")]);
        commit(&job, "first");
        let inside = job.clone.join(".git");
        let theirs = other.clone.join(".git/objects");
        let head = job.agent_git(&["rev-parse", "HEAD"]);
        let (first, rest) = head.split_at(2);
        let fan_out = inside.join("objects").join(first);
        match trick {
            "objects" => {
                fs::remove_dir_all(inside.join("objects")).unwrap();
                symlink(&theirs, inside.join("objects")).unwrap();
            }
            "one" => {
                fs::remove_dir_all(&fan_out).unwrap();
                symlink(&theirs, &fan_out).unwrap();
            }
            "pipe" => {
                fs::remove_file(fan_out.join(rest)).unwrap();
                let made = std::process::Command::new("mkfifo").arg(fan_out.join(rest)).status();
                assert!(made.unwrap().success());
            }
            _ => {
                // What git would run if it ran there.
                fs::write(inside.join("objects/info/alternates"), theirs.to_str().unwrap()).unwrap();
                fs::write(inside.join("config"), "[core]\n\tfsmonitor = touch ran\n").unwrap();
            }
        }
        assert_eq!(take(&job).is_some(), trick == "config", "{trick}");
        assert!(!job.clone.join("ran").exists());
    }
}
