//! Phases become part of main, once, and nobody's work is lost.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod support;

use checkrein_forge::*;
use support::*;

const ALL: [Merge; 3] = [Merge::Squash, Merge::Merge, Merge::Rebase];

fn worked() -> Job {
    let job = Job::with(&[("a", "1\n2\n3\n"), ("b", "b\n")]);
    for todo in ["first", "second"] {
        job.write(todo, todo);
        job.agent_git(&["add", "-A"]);
        job.agent_git(&["commit", "-q", "-m", todo]);
    }
    job.collect();
    job
}

/// Somebody else's commit on main.
fn main_goes_on(job: &Job, path: &str, text: &str) -> Oid {
    let (branch, onto) = (job.bare.names().main(), job.main());
    let changes = [FileChange::Write { path: path.into(), content: text.into() }];
    let by = engine().at(NOW + 90);
    let commit = FilesCommit { branch: &branch, onto: &onto, by: &by, message: "other\n", changes: &changes };
    job.bare.commit_files(&commit).unwrap()
}

#[test]
fn each_way_ends_in_the_same_files() {
    let parents = [(Merge::Squash, 1, 1), (Merge::Merge, 3, 2), (Merge::Rebase, 2, 1)];
    for (how, commits, last_parents) in parents {
        let job = worked();
        let onto = main_goes_on(&job, "c", "c\n");
        let Merged::Done(done) = job.merge(how) else { panic!("{how:?}") };
        assert_eq!(done, job.main());
        assert_eq!(job.files(&done), ["a=1\n2\n3\n", "b=b\n", "c=c\n", "first=first", "second=second"]);
        let log = job.bare.log(Some(&onto), &done, 10).unwrap();
        assert_eq!((log.len(), log[0].parents.len()), (commits, last_parents), "{how:?}");
    }
}

#[test]
fn a_squash_says_what_was_done_and_when() {
    let job = worked();
    let Merged::Done(done) = job.merge(Merge::Squash) else { panic!() };
    let log = job.bare.log(None, &done, 1).unwrap();
    assert_eq!(log[0].message, "phase 2 (tactical): done");
    assert_eq!(
        (log[0].author_email.as_str(), log[0].authored_at_seconds),
        ("engine@checkrein.invalid", NOW + 120)
    );
}

#[test]
fn twice_is_once_also_when_main_went_on() {
    for how in ALL {
        let job = worked();
        let (head, onto) = (job.head(), job.main());
        let first = job.merge_at(how, &head, &onto).unwrap();
        assert_eq!(job.merge_at(how, &head, &onto).unwrap(), first);
        let later = main_goes_on(&job, "later", "x");
        assert_eq!(job.merge_at(how, &head, &onto).unwrap(), first);
        assert_eq!(job.main(), later);
    }
}

#[test]
fn a_main_that_moved_is_not_overwritten() {
    let job = worked();
    let (head, onto) = (job.head(), job.main());
    let moved = main_goes_on(&job, "c", "c");
    let error = job.merge_at(Merge::Squash, &head, &onto).unwrap_err();
    assert!(matches!(error, ForgeError::Moved { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!("branch `main` is at {moved}, not at {onto}; nothing was changed, look at it again")
    );
    assert_eq!(job.main(), moved);
}

#[test]
fn an_empty_phase_is_said_to_be_empty() {
    for how in ALL {
        let job = Job::with(&[("a", "1")]);
        job.collect();
        let before = job.main();
        assert_eq!(job.merge(how), Merged::Empty);
        assert_eq!(job.main(), before);
    }
}

#[test]
fn a_conflict_is_data_and_changes_nothing() {
    for how in ALL {
        let job = worked();
        job.write("a", "1\nagent\n3\n");
        job.collect();
        let main = main_goes_on(&job, "a", "1\nother\n3\n");
        let head = job.head();
        let Merged::Conflict(conflict) = job.merge(how) else { panic!("{how:?}") };
        assert_eq!(conflict.files.len(), 1);
        assert_eq!(conflict.files[0].path, "a".into());
        let text = conflict.files[0].text.as_deref().unwrap();
        assert!(text.contains("<<<<<<<") && text.contains("other") && text.contains("agent"), "{text}");
        assert_eq!(conflict.messages, ["CONFLICT (content): Merge conflict in a"]);
        assert_eq!((job.main(), job.head()), (main, head));
    }
}

#[test]
fn a_deleted_file_that_changed_is_a_conflict() {
    let job = worked();
    std::fs::remove_file(job.clone.join("a")).unwrap();
    job.collect();
    main_goes_on(&job, "a", "other\n");
    let Merged::Conflict(conflict) = job.merge(Merge::Squash) else { panic!() };
    assert_eq!(conflict.files[0].path, "a".into());
}

#[test]
fn branches_are_cut_and_deleted_once() {
    let job = worked();
    let (head, main) = (job.head(), job.main());
    job.bare.cut_branch(&job.branch, &main).unwrap();
    assert_eq!(job.head(), head);
    let error = job.bare.delete_branch(&job.branch, &main).unwrap_err();
    assert!(matches!(error, ForgeError::Moved { .. }));
    job.bare.delete_branch(&job.branch, &head).unwrap();
    job.bare.delete_branch(&job.branch, &head).unwrap();
    assert_eq!(job.bare.branches().unwrap(), [("main".to_owned(), main.clone())]);
    let error = job.bare.collect(&job.request(&agent(), &engine(), Limits::default())).unwrap_err();
    assert!(matches!(error, ForgeError::NoBranch { .. }));
}

#[test]
fn a_push_is_seen_and_merged_with_the_agents_work() {
    let job = Job::with(&[("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
    let start = job.head();
    job.write("a", "agent\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let pushed = job.person_pushes(&[("a", "1\n2\n3\n4\n5\n6\n7\n8\nada\n"), ("note", "hello")]);
    assert_eq!(job.bare.pushed_since(&job.branch, &start).unwrap(), Some(pushed.clone()));
    assert_eq!(job.bare.pushed_since(&job.branch, &pushed).unwrap(), None);
    let collected = job.collect();
    assert_eq!(collected.landing, Landing::Merged);
    assert_eq!(job.files(&job.head()), ["a=agent\n2\n3\n4\n5\n6\n7\n8\nada\n", "note=hello"]);
    let human = job.bare.human_commits(Some(&start), &job.head(), &[&agent(), &engine()], 10).unwrap();
    assert_eq!(human.iter().map(Commit::title).collect::<Vec<_>>(), ["by hand"]);
    // The clone has not seen the push; working on in it takes nothing of it away.
    job.write("b", "more");
    assert_eq!(job.collect().landing, Landing::Merged);
    assert_eq!(job.files(&job.head()), ["a=agent\n2\n3\n4\n5\n6\n7\n8\nada\n", "b=more", "note=hello"]);
    for how in ALL {
        let (head, onto) = (job.head(), start.clone());
        let branch = job.bare.names().phase(9, checkrein_core::boundary::PhaseKind::Tactical, 1 + how as u32);
        job.bare.cut_branch(&branch, &start).unwrap();
        let by = engine().at(NOW);
        let request = MergeRequest { how, head: &head, into: &branch, onto: &onto, by: &by, message: "x\n" };
        let Merged::Done(done) = job.bare.merge(&request).unwrap() else { panic!() };
        assert_eq!(job.files(&done), job.files(&head), "{how:?}");
    }
}

#[test]
fn a_push_to_the_same_lines_is_a_conflict_and_both_sides_are_kept() {
    let job = Job::with(&[("a", "1\n")]);
    job.write("a", "agent\n");
    let pushed = job.person_pushes(&[("a", "ada\n")]);
    for _ in 0..2 {
        let collected = job.collect();
        let Landing::Conflict { conflict, kept_on } = &collected.landing else { panic!() };
        assert_eq!(conflict.files[0].path, "a".into());
        assert_eq!(collected.head, pushed);
        assert_eq!(job.bare.head(kept_on).unwrap().as_ref(), Some(&collected.work));
        assert_eq!(job.files(&collected.work), ["a=agent\n"]);
    }
    // The person merges by hand and pushes; then there is nothing left to do.
    let place = tempfile::tempdir_in(job.dir.path()).unwrap();
    let bare = job.bare.path().to_str().unwrap();
    sh(place.path(), &["clone", "-q", "-b", job.branch.as_str(), bare, "."]);
    sh(
        place.path(),
        &["merge", "-q", "-s", "ours", "-m", "both", &format!("origin/{}-unmerged", job.branch)],
    );
    sh(place.path(), &["push", "-q"]);
    assert_eq!(job.collect().landing, Landing::Nothing);
    assert_eq!(job.files(&job.head()), ["a=ada\n"]);
    assert_eq!(job.bare.branches().unwrap().len(), 2);
}

#[test]
fn a_person_cannot_rewrite_or_see_what_is_private() {
    let job = worked();
    let place = tempfile::tempdir_in(job.dir.path()).unwrap();
    let bare = job.bare.path().to_str().unwrap();
    sh(place.path(), &["clone", "-q", "--mirror", bare, "."]);
    assert!(!sh(place.path(), &["for-each-ref"]).contains("refs/checkrein"));
    let main = job.main();
    let refused = std::process::Command::new("git")
        .current_dir(place.path())
        .args(["push", "-q", "--force", bare, &format!("{main}:refs/heads/{}", job.branch)])
        .output()
        .unwrap();
    assert!(!refused.status.success());
}

#[test]
fn work_that_is_written_down_and_not_on_its_branch_is_brought_there() {
    let job = Job::with(&[("a", "1\n")]);
    let start = job.head();
    job.write("b", "agent");
    job.collect();
    // As a call of git leaves it that was killed between two references.
    let back = || {
        let reference = format!("refs/heads/{}", job.branch);
        sh(job.bare.path(), &["update-ref", &reference, start.as_str()]);
    };
    back();
    assert_eq!(job.collect().landing, Landing::Forward);
    assert_eq!(job.files(&job.head()), ["a=1\n", "b=agent"]);
    back();
    job.person_pushes(&[("c", "ada")]);
    assert_eq!(job.collect().landing, Landing::Merged);
    assert_eq!(job.files(&job.head()), ["a=1\n", "b=agent", "c=ada"]);
}

#[test]
fn a_merge_of_the_main_branch_that_an_agent_made_is_one() {
    let job = Job::with(&[("a", "1\n")]);
    let main = job.bare.names().main();
    let change = FileChange::Write { path: "a".into(), content: b"ada\n".to_vec() };
    let by = engine().at(NOW);
    let commit =
        FilesCommit { branch: &main, onto: &job.main(), by: &by, message: "x\n", changes: &[change] };
    let moved = job.bare.commit_files(&commit).unwrap();
    job.write("a", "agent\n");
    job.collect();
    assert!(matches!(job.merge(Merge::Squash), Merged::Conflict(_)));
    job.clone_again();
    let merge = ["merge", "-q", "-s", "ours", "--no-edit", main.as_str()];
    sh(&job.clone, &merge);
    job.write("a", "ada and agent\n");
    job.collect();
    assert!(job.bare.contains(&job.head(), &moved).unwrap());
    let Merged::Done(done) = job.merge(Merge::Squash) else { panic!() };
    assert_eq!(job.files(&done), ["a=ada and agent\n"]);
}
