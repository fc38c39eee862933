//! Git itself: too slow, too old, not there.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod support;

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use checkrein_forge::*;
use support::*;

/// A directory with a program that says it is git and then does as told.
fn fake(version: &str, then: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("git");
    let script = format!("#!/bin/sh\n[ \"$1\" = version ] && echo '{version}' && exit 0\n{then}\n");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    dir
}

#[test]
fn what_takes_too_long_is_ended_with_all_it_started() {
    let place = tempfile::tempdir().unwrap();
    let late = place.path().join("late");
    let dir = fake("git version 2.40.0", &format!("(/bin/sleep 2; echo > {}) & wait", late.display()));
    let git = Git::find_in(dir.path().as_os_str()).unwrap().with_timeout(Duration::from_millis(200));
    let started = Instant::now();
    let error = Bare::create(&git, &place.path().join("job.git"), Names::Own, &engine().at(NOW)).unwrap_err();
    assert!(matches!(error, ForgeError::TimedOut { .. }), "{error}");
    assert!(started.elapsed() < Duration::from_millis(1500));
    std::thread::sleep(Duration::from_millis(2200));
    assert!(!late.exists());
    assert!(!place.path().join("job.git").exists());
}

#[test]
fn what_fails_says_why() {
    let place = tempfile::tempdir().unwrap();
    let dir = fake("git version 2.40.0", "echo 'fatal: no such thing' >&2; exit 128");
    let git = Git::find_in(dir.path().as_os_str()).unwrap();
    let error = Bare::create(&git, &place.path().join("job.git"), Names::Own, &engine().at(NOW)).unwrap_err();
    assert!(error.to_string().starts_with("`git init` failed in `"), "{error}");
    assert!(error.to_string().ends_with("fatal: no such thing"), "{error}");
}

#[test]
fn an_old_git_or_none_is_said() {
    let dir = fake("git version 2.30.2", "exit 1");
    let error = Git::find_in(dir.path().as_os_str()).unwrap_err();
    assert!(error.to_string().ends_with("says `git version 2.30.2`; install git 2.38 or newer"), "{error}");
    let error = Git::find_in(OsStr::new("/nowhere")).unwrap_err();
    assert_eq!(error.to_string(), "no `git` was found in `/nowhere`; install git 2.38 or newer");
}

#[test]
fn a_name_or_path_that_would_be_an_instruction_is_refused() {
    let job = Job::bare(&[("a", "1")]);
    assert!(Identity::new("a\nb", "c").is_err());
    assert!(Identity::new("a", "<b>").is_err());
    for path in ["../x", "/etc/x", ".git/config", "a//b", "", "x/.GIT/y", "a/./b"] {
        let changes = [FileChange::Write { path: path.into(), content: Vec::new() }];
        let (main, onto, by) = (job.bare.names().main(), job.main(), engine().at(NOW));
        let commit = FilesCommit { branch: &main, onto: &onto, by: &by, message: "x", changes: &changes };
        assert!(matches!(job.bare.commit_files(&commit), Err(ForgeError::BadPath { .. })), "{path}");
    }
}

#[test]
fn files_are_written_and_deleted_once() {
    let job = Job::bare(&[("a", "1"), ("b", "2")]);
    let (main, onto, by) = (job.bare.names().main(), job.main(), engine().at(NOW + 1));
    let changes = [
        FileChange::Write { path: "c/d".into(), content: b"3".to_vec() },
        FileChange::Delete { path: "b".into() },
        FileChange::Delete { path: "never".into() },
    ];
    let commit = FilesCommit { branch: &main, onto: &onto, by: &by, message: "x\n", changes: &changes };
    let first = job.bare.commit_files(&commit).unwrap();
    assert_eq!(job.bare.commit_files(&commit).unwrap(), first);
    assert_eq!(job.files(&job.main()), ["a=1", "c/d=3"]);
    let same = FilesCommit { onto: &first, ..commit };
    assert_eq!(job.bare.commit_files(&same).unwrap(), first);
}

#[test]
fn locks_nobody_holds_are_swept() {
    let job = Job::with(&[("a", "1")]);
    job.write("a", "2");
    job.collect();
    let (head, onto) = (job.head(), job.main());
    fs::write(job.bare.path().join("refs/heads/main.lock"), "").unwrap();
    assert!(job.merge_at(Merge::Squash, &head, &onto).is_err());
    assert_eq!(job.bare.sweep(Duration::from_secs(600)).unwrap(), 0);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(job.bare.sweep(Duration::ZERO).unwrap(), 1);
    assert!(matches!(job.merge(Merge::Squash), Merged::Done(_)));
}
