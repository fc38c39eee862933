//! A job in a repository that was there: it is not touched until the end, and then only with care.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod support;

use std::fs;
use std::path::PathBuf;

use checkrein_forge::*;
use support::*;
use tempfile::TempDir;

struct User {
    dir: TempDir,
    repository: PathBuf,
    source: Source,
    bare: Bare,
}

impl User {
    /// A repository with two branches, `work` checked out, and a dirty tree; the job starts from `branch`.
    fn new(branch: Option<&str>) -> User {
        let dir = tempfile::tempdir().unwrap();
        let repository = dir.path().join("project");
        fs::create_dir(&repository).unwrap();
        sh(&repository, &["init", "-q", "-b", "main"]);
        fs::write(repository.join("a"), "1\n2\n3\n").unwrap();
        sh(&repository, &["add", "-A"]);
        sh(&repository, &["commit", "-q", "-m", "one"]);
        sh(&repository, &["checkout", "-q", "-b", "work"]);
        fs::write(repository.join("a"), "dirty\n").unwrap();
        fs::write(repository.join("staged"), "staged\n").unwrap();
        sh(&repository, &["add", "staged"]);
        fs::write(repository.join("untracked"), "untracked\n").unwrap();
        let source = Source::look(&git(), &repository, branch).unwrap();
        let names = Names::within("j1").unwrap();
        let bare = Bare::create_from(&git(), &dir.path().join("job.git"), names, &source).unwrap();
        User { dir, repository, source, bare }
    }

    /// Everything a person could notice about the repository.
    fn state(&self) -> Vec<String> {
        let git = |arguments: &[&str]| sh(&self.repository, arguments);
        let file = |name: &str| fs::read_to_string(self.repository.join(name)).unwrap();
        vec![
            git(&["status", "--porcelain"]),
            git(&["for-each-ref"]),
            git(&["stash", "list"]),
            file("a"),
            file("staged"),
            file(".git/config"),
            file(".git/HEAD"),
            self.repository.join(".git/FETCH_HEAD").exists().to_string(),
        ]
    }

    fn change(&self, files: &[(&str, &str)]) -> Oid {
        let main = self.bare.names().main();
        let onto = self.bare.head(&main).unwrap().unwrap();
        let changes: Vec<FileChange> = files
            .iter()
            .map(|(path, text)| FileChange::Write { path: (*path).into(), content: text.as_bytes().to_vec() })
            .collect();
        let by = engine().at(NOW);
        let message = format!("phase with {}\n", files[0].0);
        let commit =
            FilesCommit { branch: &main, onto: &onto, by: &by, message: &message, changes: &changes };
        self.bare.commit_files(&commit).unwrap()
    }

    fn publish(&self, head: &Oid) -> Published {
        let by = engine().at(NOW + 500);
        let publish = Publish { source: &self.source, head, work: head, without: ".checkrein/job", by: &by };
        self.bare.publish(&publish).unwrap()
    }
}

#[test]
fn a_job_leaves_the_repository_alone() {
    let user = User::new(None);
    assert_eq!(user.source.branch.as_deref(), Some("work"));
    let before = user.state();
    assert_eq!(user.bare.branches().unwrap(), [("checkrein/j1/main".to_owned(), user.source.commit.clone())]);
    let branch = user.bare.names().phase(1, checkrein_core::boundary::PhaseKind::Strategic, 1);
    user.bare.cut_branch(&branch, &user.source.commit).unwrap();
    let clone = user.dir.path().join("clone");
    user.bare.create_clone(&clone, &branch, &agent()).unwrap();
    assert_eq!(fs::read_to_string(clone.join("a")).unwrap(), "1\n2\n3\n");
    user.change(&[("b", "2\n")]);
    assert_eq!(user.state(), before);
    // Making it again finds it.
    let names = Names::within("j1").unwrap();
    let again = Bare::create_from(&git(), user.bare.path(), names, &user.source).unwrap();
    assert_eq!(again.branches().unwrap().len(), 2);
}

#[test]
fn a_branch_that_is_checked_out_is_not_moved() {
    let user = User::new(None);
    let before = user.state();
    let head = user.change(&[("b", "2\n")]);
    for _ in 0..2 {
        let Published::Beside { branch, commit, hint } = user.publish(&head) else { panic!() };
        assert_eq!(branch, "checkrein/j1/result");
        assert_eq!(
            hint,
            "branch `work` is checked out; look at it with `git log checkrein/j1/result`, \
             take it with `git merge checkrein/j1/result`"
        );
        assert_eq!(sh(&user.repository, &["rev-parse", &branch]), commit.to_string());
        sh(&user.repository, &["branch", "-D", "-q", &branch]);
        assert_eq!(user.state(), before);
        user.publish(&head);
    }
    sh(&user.repository, &["merge", "-q", "--ff-only", "checkrein/j1/result"]);
    assert_eq!(fs::read_to_string(user.repository.join("b")).unwrap(), "2\n");
    assert!(matches!(user.publish(&head), Published::Moved { .. }));
}

#[test]
fn a_branch_that_nobody_is_on_moves_forward_without_the_artefacts() {
    let user = User::new(Some("main"));
    user.change(&[(".checkrein/job/plan.md", "plan")]);
    user.change(&[("b", "2\n"), (".checkrein/job/todos.yaml", "todo"), (".checkrein/own", "stays")]);
    let head = user.change(&[("c", "3\n")]);
    let Published::Moved { branch, from, to } = user.publish(&head) else { panic!() };
    assert_eq!((branch.as_str(), &from), ("main", &user.source.commit));
    let git = |arguments: &[&str]| sh(&user.repository, arguments);
    assert_eq!(git(&["rev-parse", "main"]), to.to_string());
    assert_eq!(git(&["log", "--format=%s", "main"]), "phase with c\nphase with b\none");
    assert_eq!(git(&["ls-tree", "-r", "--name-only", "main"]), ".checkrein/own\na\nb\nc");
    assert_eq!(git(&["log", "--all", "--format=%s", "--", ".checkrein/job"]), "");
    assert_eq!(git(&["branch", "--list", "checkrein/*"]), "");
    assert!(matches!(user.publish(&head), Published::Moved { .. }));
    assert_eq!(git(&["rev-parse", "main"]), to.to_string());
    assert_eq!(fs::read_to_string(user.repository.join("a")).unwrap(), "dirty\n");
}

#[test]
fn a_branch_that_went_on_is_merged_or_the_conflict_is_shown() {
    let rows = [("other", "x\n", false), ("a", "1\nperson\n3\n", true)];
    for (path, text, conflicts) in rows {
        let user = User::new(Some("main"));
        let head = user.change(&[("a", "1\nagent\n3\n")]);
        let place = user.dir.path().join("further");
        sh(&user.repository, &["worktree", "add", "-q", place.to_str().unwrap(), "main"]);
        fs::write(place.join(path), text).unwrap();
        sh(&place, &["add", "-A"]);
        sh(&place, &["commit", "-q", "-m", "meanwhile"]);
        let there = sh(&user.repository, &["rev-parse", "main"]);
        if !conflicts {
            assert!(matches!(user.publish(&head), Published::Beside { .. }), "it is checked out elsewhere");
        }
        sh(&user.repository, &["worktree", "remove", "--force", place.to_str().unwrap()]);
        match user.publish(&head) {
            Published::Moved { from, to, .. } if !conflicts => {
                assert_eq!(from.to_string(), there);
                assert_eq!(sh(&user.repository, &["show", &format!("{to}:a")]), "1\nagent\n3");
                assert_eq!(sh(&user.repository, &["show", &format!("{to}:other")]), "x");
            }
            Published::Conflict { conflict, branch } if conflicts => {
                assert_eq!((conflict.files[0].path.clone(), branch.as_str()), ("a".into(), "main"));
                assert_eq!(sh(&user.repository, &["rev-parse", "main"]), there);
                assert_eq!(sh(&user.repository, &["branch", "--list", "checkrein/*"]), "");
            }
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn a_job_that_changed_nothing_but_its_artefacts_publishes_nothing() {
    let user = User::new(Some("main"));
    let before = user.state();
    let head = user.change(&[(".checkrein/job/plan.md", "plan")]);
    assert_eq!(user.publish(&head), Published::Nothing);
    assert_eq!(user.state(), before);
}

#[test]
fn hooks_of_the_repository_do_not_run_and_a_commit_alone_has_no_branch() {
    let user = User::new(None);
    let commit = user.source.commit.to_string();
    let source = Source::look(&git(), &user.repository, Some(&commit)).unwrap();
    assert_eq!((source.branch.as_deref(), &source.commit), (None, &user.source.commit));
    let hook = user.repository.join(".git/hooks/reference-transaction");
    let marker = user.dir.path().join("marker");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
    std::process::Command::new("chmod").arg("+x").arg(&hook).status().unwrap();
    let head = user.change(&[("b", "2\n")]);
    let by = engine().at(NOW);
    let publish = Publish { source: &source, head: &head, work: &head, without: ".checkrein/job", by: &by };
    assert!(matches!(user.bare.publish(&publish).unwrap(), Published::Beside { .. }));
    assert!(!marker.exists());
}

#[test]
fn what_is_no_repository_or_no_commit_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let error = Source::look(&git(), dir.path(), None).unwrap_err();
    assert!(matches!(error, ForgeError::NotARepository { .. }), "{error}");
    sh(dir.path(), &["init", "-q"]);
    for revision in [None, Some("nothing"), Some("--all"), Some("-h")] {
        let error = Source::look(&git(), dir.path(), revision).unwrap_err();
        assert!(matches!(error, ForgeError::NoCommit { .. }), "{error}");
    }
}

#[test]
fn a_repository_with_longer_names_works_too() {
    let dir = tempfile::tempdir().unwrap();
    let repository = dir.path().join("project");
    fs::create_dir(&repository).unwrap();
    sh(&repository, &["init", "-q", "-b", "main", "--object-format=sha256"]);
    fs::write(repository.join("a"), "1\n").unwrap();
    sh(&repository, &["add", "-A"]);
    sh(&repository, &["commit", "-q", "-m", "one"]);
    let source = Source::look(&git(), &repository, None).unwrap();
    let bare =
        Bare::create_from(&git(), &dir.path().join("job.git"), Names::within("j").unwrap(), &source).unwrap();
    let branch = bare.names().phase(1, checkrein_core::boundary::PhaseKind::Strategic, 1);
    bare.cut_branch(&branch, &source.commit).unwrap();
    let clone = dir.path().join("clone");
    bare.create_clone(&clone, &branch, &agent()).unwrap();
    fs::write(clone.join("b"), "2\n").unwrap();
    sh(&clone, &["add", "-A"]);
    sh(&clone, &["commit", "-q", "-m", "agent"]);
    let collect = Collect {
        clone: &clone,
        branch: &branch,
        agent: &agent(),
        engine: &engine(),
        at_seconds: NOW,
        message: "rest\n",
        limits: Limits::default(),
    };
    let collected = bare.collect(&collect).unwrap();
    assert_eq!((collected.landing, collected.findings), (Landing::Forward, vec![]));
}
