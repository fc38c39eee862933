//! What an agent left reaches its branch.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use checkrein_forge::*;
use support::*;

#[test]
fn files_new_changed_deleted_and_executable() {
    let job = Job::with(&[("a.txt", "one\n"), ("b/c.txt", "two\n"), ("gone", "x")]);
    job.write("a.txt", "one and a half\n");
    job.write("new/deep/file", "new");
    fs::remove_file(job.clone.join("gone")).unwrap();
    job.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(job.clone.join("run.sh"), Permissions::from_mode(0o755)).unwrap();
    let collected = job.collect();
    assert_eq!(collected.landing, Landing::Forward);
    assert_eq!(collected.findings, []);
    let changed: Vec<String> = collected.files_changed.iter().map(ToString::to_string).collect();
    assert_eq!(changed, ["a.txt", "gone", "new/deep/file", "run.sh"]);
    let files = job.files(&job.head());
    assert_eq!(files, ["a.txt=one and a half\n", "b/c.txt=two\n", "new/deep/file=new", "run.sh=#!/bin/sh\n"]);
    let entries = job.bare.list_files(&job.head()).unwrap();
    assert_eq!(entries.last().unwrap().kind, EntryKind::Executable);
}

#[test]
fn nothing_done_is_nothing_collected_and_twice_is_once() {
    let job = Job::with(&[("a", "1")]);
    let before = job.head();
    let collected = job.collect();
    assert_eq!((collected.head, collected.landing), (before.clone(), Landing::Nothing));
    job.write("a", "2");
    let first = job.collect();
    assert_ne!(first.head, before);
    let second = job.collect();
    assert_eq!(second.head, first.head);
    assert_eq!((second.landing, second.files_changed), (Landing::Nothing, vec![]));
}

#[test]
fn an_emptied_clone_is_an_empty_tree() {
    let job = Job::with(&[("a", "1")]);
    fs::remove_file(job.clone.join("a")).unwrap();
    job.collect();
    assert_eq!(job.files(&job.head()), Vec::<String>::new());
}

#[test]
fn commits_of_the_agent_are_kept_in_its_name() {
    let job = Job::with(&[("a", "1")]);
    let start = job.head();
    for todo in ["first", "second"] {
        job.write(todo, todo);
        job.agent_git(&["add", "-A"]);
        job.agent_git(&["commit", "-q", "-m", &format!("todo: {todo}")]);
    }
    job.write("rest", "uncommitted");
    let collected = job.collect();
    assert_eq!(collected.findings, []);
    let log = job.bare.log(Some(&start), &job.head(), 10).unwrap();
    let titles: Vec<&str> = log.iter().map(Commit::title).collect();
    assert_eq!(titles, ["what was left", "todo: second", "todo: first"]);
    assert!(log.iter().all(|commit| commit.author_email == "agent@checkrein.invalid"));
    assert_eq!(job.files(&log[2].oid), ["a=1", "first=first"]);
    // It said to be Ada, which does not make it a person.
    assert_eq!(job.bare.human_commits(Some(&start), &job.head(), &[&agent(), &engine()], 10).unwrap(), []);

    job.write("third", "3");
    job.agent_git(&["add", "-A"]);
    job.agent_git(&["commit", "-q", "-m", "todo: third"]);
    let before = job.head();
    job.collect();
    let log = job.bare.log(Some(&before), &job.head(), 10).unwrap();
    assert_eq!(log.iter().map(Commit::title).collect::<Vec<_>>(), ["todo: third"]);
    assert_eq!(job.collect().landing, Landing::Nothing);
}

#[test]
fn other_branches_detached_heads_and_packed_objects_are_followed() {
    for how in [&["checkout", "-q", "-b", "mine"][..], &["checkout", "-q", "--detach"]] {
        let job = Job::with(&[("a", "1")]);
        let start = job.head();
        job.agent_git(how);
        job.write("b", "2");
        job.agent_git(&["add", "-A"]);
        job.agent_git(&["commit", "-q", "-m", "mine"]);
        job.agent_git(&["gc", "-q"]);
        let collected = job.collect();
        let log = job.bare.log(Some(&start), &job.head(), 10).unwrap();
        assert_eq!(log.len(), 1, "{:?}", collected.findings);
        assert_eq!(log[0].title(), "mine");
    }
}

#[test]
fn a_rewritten_or_damaged_history_costs_only_the_history() {
    type Spoil = (&'static str, fn(&Job));
    let spoil: [Spoil; 6] = [
        ("rewritten", |job| {
            job.agent_git(&["checkout", "-q", "--orphan", "fresh"]);
            job.agent_git(&["add", "-A"]);
            job.agent_git(&["commit", "-q", "-m", "as if nothing had been"]);
        }),
        ("deleted", |job| fs::remove_dir_all(job.clone.join(".git")).unwrap()),
        ("head is nonsense", |job| job.write(".git/HEAD", "ref: ../../etc/passwd\n")),
        ("head is unknown", |job| job.write(".git/HEAD", "1".repeat(40))),
        ("objects are a link", |job| {
            job.agent_git(&["add", "-A"]);
            job.agent_git(&["commit", "-q", "-m", "x"]);
            fs::rename(job.clone.join(".git/objects"), job.dir.path().join("objects")).unwrap();
            symlink(job.dir.path().join("objects"), job.clone.join(".git/objects")).unwrap();
        }),
        ("an object is broken", |job| {
            job.agent_git(&["add", "-A"]);
            job.agent_git(&["commit", "-q", "-m", "x"]);
            let tree = job.agent_git(&["rev-parse", "HEAD^{tree}"]);
            let (fan_out, rest) = tree.split_at(2);
            let object = job.clone.join(".git/objects").join(fan_out).join(rest);
            fs::set_permissions(&object, Permissions::from_mode(0o644)).unwrap();
            fs::write(object, "broken").unwrap();
        }),
    ];
    for (case, spoil) in spoil {
        let job = Job::with(&[("a", "1")]);
        job.write("b", "2");
        spoil(&job);
        let collected = job.collect();
        assert!(
            matches!(collected.findings[..], [Finding::HistoryLost { .. }]),
            "{case}: {:?}",
            collected.findings
        );
        assert_eq!(job.files(&job.head()), ["a=1", "b=2"], "{case}");
        assert_eq!(job.bare.log(Some(&job.main()), &job.head(), 10).unwrap().len(), 1, "{case}");
    }
}

#[test]
fn ignored_files_stay_behind_unless_the_branch_has_them() {
    let job =
        Job::with(&[(".gitignore", "target/\n*.log\n!keep.log\n"), ("old.log", "tracked"), ("src/x", "x")]);
    job.write("target/debug/big", "x");
    job.write("sub/target/y", "x");
    job.write("a.log", "x");
    job.write("keep.log", "kept");
    job.write("old.log", "tracked and changed");
    job.write("src/.gitignore", "/only-here\n");
    job.write("src/only-here", "x");
    job.write("only-here", "here");
    job.write(":(exclude)odd", "odd");
    job.write("sub/z", "z");
    // What the agent's own repository says to ignore does not count.
    job.write(".git/info/exclude", "*\n");
    job.collect();
    let files = job.files(&job.head());
    let paths: Vec<&str> = files.iter().map(|file| file.split('=').next().unwrap()).collect();
    assert_eq!(
        paths,
        [
            ".gitignore",
            ":(exclude)odd",
            "keep.log",
            "old.log",
            "only-here",
            "src/.gitignore",
            "src/x",
            "sub/z"
        ]
    );
    assert!(files.contains(&"old.log=tracked and changed".to_owned()));
}

#[test]
fn what_is_too_big_or_too_much_is_reported_and_the_branch_keeps_what_it_had() {
    let job = Job::with(&[("a", "small"), ("same", "0123456789012345678901234567890")]);
    job.write("a", "x".repeat(21));
    job.write("huge", "y".repeat(30));
    job.write("ok", "fine");
    let collected = job.collect_with(Limits { file_bytes: 20, ..Limits::default() });
    let words: Vec<String> = collected.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        ["`a` was not taken: 21 bytes, at most 20 are", "`huge` was not taken: 30 bytes, at most 20 are"]
    );
    assert_eq!(job.files(&job.head()), ["a=small", "ok=fine", "same=0123456789012345678901234567890"]);

    let collected = job.collect_with(Limits { total_bytes: 16, ..Limits::default() });
    assert_eq!(collected.findings, [Finding::TooMuch { left_out: 1, limit_bytes: 16 }]);
    let collected = job.collect_with(Limits { files: 3, ..Limits::default() });
    assert!(matches!(collected.findings[..], [Finding::TooManyFiles { left_out: 1, limit: 3 }]));
}

#[test]
fn a_huge_sparse_file_is_left_out_quickly() {
    let job = Job::with(&[("a", "1")]);
    fs::File::create(job.clone.join("huge")).unwrap().set_len(1 << 40).unwrap();
    let collected = job.collect();
    assert!(matches!(collected.findings[..], [Finding::TooBig { .. }]));
}

#[test]
fn odd_names_survive_a_round_trip() {
    let job = Job::with(&[]);
    let names: [&[u8]; 9] = [
        b"new\nline",
        b"-rf",
        b"--help",
        b"\xff\xfe",
        b"tab\there",
        b"\"quoted\"",
        b"back\\slash",
        b" space ",
        b"a:b",
    ];
    for name in names {
        fs::write(job.clone.join(std::ffi::OsStr::from_bytes(name)), name).unwrap();
    }
    job.write(".gitignore", "nothing\n");
    assert_eq!(job.collect().findings, []);
    let entries = job.bare.list_files(&job.head()).unwrap();
    let paths: Vec<&[u8]> = entries.iter().map(|entry| entry.path.as_bytes()).collect();
    for name in names {
        assert!(paths.contains(&name), "{name:?}");
        let path = TreePath::new(name);
        assert_eq!(job.bare.show_file(&job.head(), &path, 100).unwrap().bytes, name);
    }
    let diff = job.bare.diff(&job.main(), &job.head(), &DiffLimits::default()).unwrap();
    assert_eq!(diff.files.len(), names.len() + 1);
    job.clone_again();
    assert_eq!(job.collect().landing, Landing::Nothing);
}

#[test]
fn bytes_are_not_converted_in_either_direction() {
    let job = Job::with(&[
        (".gitattributes", "* text=auto eol=crlf ident\n*.u text working-tree-encoding=UTF-16\n"),
        ("a.txt", "one\ntwo\n$Id$\n"),
        ("b.u", "text\n"),
    ]);
    assert_eq!(fs::read(job.clone.join("a.txt")).unwrap(), b"one\ntwo\n$Id$\n");
    assert_eq!(job.agent_git(&["status", "--porcelain"]), "");
    assert_eq!(job.collect().landing, Landing::Nothing);
    job.write("c.txt", "dos\r\n");
    job.collect();
    assert!(job.files(&job.head()).contains(&"c.txt=dos\r\n".to_owned()));
}

#[test]
fn a_submodule_stays_at_its_commit() {
    let job = Job::bare(&[("a", "1")]);
    let place = tempfile::tempdir_in(job.dir.path()).unwrap();
    sh(place.path(), &["clone", "-q", "-b", job.branch.as_str(), job.bare.path().to_str().unwrap(), "."]);
    let commit = sh(place.path(), &["rev-parse", "HEAD"]);
    sh(place.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub")]);
    sh(place.path(), &["commit", "-q", "-m", "submodule"]);
    sh(place.path(), &["push", "-q"]);
    job.clone_again();
    assert_eq!(job.collect().landing, Landing::Nothing);
    job.write("sub/file", "x");
    let collected = job.collect();
    assert_eq!(collected.findings, [Finding::SubmoduleChanged { path: "sub".into() }]);
    assert_eq!(collected.landing, Landing::Nothing);
}

#[test]
fn a_clone_has_no_way_back() {
    let job = Job::with(&[("a", "1")]);
    assert_eq!(job.agent_git(&["remote"]), "");
    let config = fs::read_to_string(job.clone.join(".git/config")).unwrap();
    assert!(!config.contains(job.bare.path().to_str().unwrap()), "{config}");
    assert!(!job.clone.join(".git/objects/info/alternates").exists());
    assert!(!job.clone.join(".git/FETCH_HEAD").exists());
    assert!(matches!(
        job.bare.create_clone(&job.clone, &job.branch, &agent()),
        Err(ForgeError::Exists { .. })
    ));
}

#[test]
fn what_the_agent_committed_is_taken_although_it_is_ignored() {
    let job = Job::with(&[(".gitignore", "dist/\n")]);
    job.write("dist/x", "forced");
    job.agent_git(&["add", "-f", "dist/x"]);
    job.agent_git(&["commit", "-q", "-m", "release"]);
    job.write("dist/y", "ignored");
    job.collect();
    assert_eq!(job.files(&job.head()), [".gitignore=dist/\n", "dist/x=forced"]);
}

#[test]
fn times_and_messages_that_make_no_sense_are_tamed() {
    for (author, committer) in [
        ("E <e@x> 18446744073709551614 +0000", "E <e@x> 1 +0000"),
        ("E <e@x> 9999999999999 +0000", "E <e@x> 9999999999999 +0000"),
        ("E <e@x> -5 +9999", " <> x"),
        ("Ada <ada@example.org> 1 +0000", "Ada <ada@example.org> 1 +0000\nencoding nonsense"),
    ] {
        let job = Job::with(&[("a", "1")]);
        let start = job.head();
        let tree = job.agent_git(&["rev-parse", "HEAD^{tree}"]);
        let message = "\nfrom :1\nM 100644 inline x\ndata 1\nx\n\ndone\n";
        let commit =
            format!("tree {tree}\nparent {start}\nauthor {author}\ncommitter {committer}\n\n{message}");
        let object = job.dir.path().join("object");
        fs::write(&object, commit).unwrap();
        let made =
            job.agent_git(&["hash-object", "-w", "-t", "commit", "--literally", object.to_str().unwrap()]);
        let branch = format!(".git/refs/heads/{}", job.branch);
        job.write(&branch, made);
        job.write("b", "2");
        let collected = job.collect();
        assert_eq!(job.files(&collected.head), ["a=1", "b=2"], "{author}");
        let log = job.bare.log(Some(&start), &collected.head, 10).unwrap();
        assert!(log.iter().all(|commit| commit.author_email == "agent@checkrein.invalid"), "{author}");
        assert!(log.iter().all(|commit| commit.authored_at_seconds <= NOW + 60), "{author}: {log:?}");
    }
}
