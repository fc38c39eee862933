//! A clone full of traps. Each would leave a marker if anything of it ran, or bring in what is outside.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use checkrein_forge::*;
use support::*;

const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "post-index-change",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
];

struct Trap {
    job: Job,
    marker: PathBuf,
    program: PathBuf,
}

impl Trap {
    fn new() -> Trap {
        let job = Job::with(&[("a", "1\n"), ("b.txt", "b\n")]);
        let marker = job.dir.path().join("marker");
        let program = job.dir.path().join("evil");
        fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", marker.display())).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        Trap { job, marker, program }
    }

    /// Writes to the configuration of the clone as an agent can.
    fn configure(&self, lines: &str) {
        let path = self.job.clone.join(".git/config");
        let evil = self.program.to_str().unwrap();
        let before = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("{before}\n{}\n", lines.replace("EVIL", evil))).unwrap();
    }

    /// Everything the engine does with a clone and a branch.
    fn everything(&self) -> Collected {
        let (job, start) = (&self.job, self.job.main());
        let collected = job.collect();
        job.bare.diff(&start, &job.head(), &DiffLimits::default()).unwrap();
        job.bare.log(None, &job.head(), 100).unwrap();
        for entry in job.bare.list_files(&job.head()).unwrap() {
            if entry.kind != EntryKind::Submodule {
                job.bare.show_file(&job.head(), &entry.path, 1000).unwrap();
            }
        }
        let (head, onto) = (job.head(), job.main());
        job.merge_at(Merge::Squash, &head, &onto).unwrap();
        job.clone_again();
        job.collect();
        self.assert_quiet("the whole way");
        collected
    }

    fn assert_quiet(&self, case: &str) {
        let ran = fs::read_to_string(&self.marker).unwrap_or_default();
        assert_eq!(ran, "", "{case}: something ran");
    }
}

fn commit_by_agent(job: &Job) {
    // The agent knows its own traps and steps around them.
    let quiet =
        ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false"];
    job.agent_git(&[&quiet[..], &["add", "-A"]].concat());
    job.agent_git(&[&quiet[..], &["commit", "-q", "-m", "by the agent"]].concat());
}

#[test]
fn the_traps_themselves_work() {
    let rows = [
        ("[core]\n\tfsmonitor = EVIL", &["status"][..]),
        ("[filter \"x\"]\n\tclean = EVIL", &["add", "-A"]),
        ("[diff \"x\"]\n\ttextconv = EVIL", &["diff"]),
        ("[diff]\n\texternal = EVIL", &["diff"]),
        ("[uploadpack]\n\tpackObjectsHook = EVIL\n[alias]\n\tx = !EVIL", &["x"]),
    ];
    for (row, command) in rows {
        let trap = Trap::new();
        trap.job.write(".git/info/attributes", "* filter=x diff=x\n");
        trap.job.write("a", "changed\n");
        trap.configure(row);
        trap.job.agent_git(command);
        assert!(trap.marker.exists(), "{row}: the marker would not show anything");
    }
}

#[test]
fn no_hook_runs() {
    let trap = Trap::new();
    fs::create_dir_all(trap.job.clone.join(".git/hooks")).unwrap();
    trap.job.write("b", "2");
    commit_by_agent(&trap.job);
    for hook in HOOKS {
        symlink(&trap.program, trap.job.clone.join(".git/hooks").join(hook)).unwrap();
    }
    trap.configure(&format!("[core]\n\thooksPath = {}", trap.job.clone.join(".git/hooks").display()));
    trap.everything();
}

#[test]
fn no_configured_program_runs() {
    let rows = [
        "[core]\n\tfsmonitor = EVIL\n\tsshCommand = EVIL\n\tpager = EVIL\n\teditor = EVIL\n\taskPass = EVIL\n\tgitProxy = EVIL\n\talternateRefsCommand = EVIL",
        "[diff]\n\texternal = EVIL",
        "[diff \"x\"]\n\ttextconv = EVIL\n\tcommand = EVIL\n\tcachetextconv = true",
        "[merge \"x\"]\n\tdriver = EVIL",
        "[alias]\n\tlog = !EVIL\n\tdiff-tree = !EVIL\n\tfast-import = !EVIL\n\tmerge-tree = !EVIL\n\trev-parse = !EVIL",
        "[uploadpack]\n\tpackObjectsHook = EVIL\n\tallowAnySHA1InWant = true",
        "[credential]\n\thelper = !EVIL",
        "[gpg]\n\tprogram = EVIL\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true",
        "[filter \"x\"]\n\tclean = EVIL\n\tsmudge = EVIL\n\trequired = true",
        "[filter \"x\"]\n\tprocess = EVIL\n\trequired = true",
        "[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = ext::EVIL\n\tpromisor = true\n\tuploadpack = EVIL\n[protocol]\n\tallow = always",
        "[trailer \"x\"]\n\tcommand = EVIL\n[sequence]\n\teditor = EVIL\n[web]\n\tbrowser = EVIL",
    ];
    for row in rows {
        let trap = Trap::new();
        trap.job.write("b", "2");
        commit_by_agent(&trap.job);
        trap.job.write(".gitattributes", "* filter=x diff=x merge=x\n");
        trap.job.write("uncommitted", "3");
        trap.configure(row);
        trap.job.write(".git/info/attributes", "* filter=x diff=x merge=x\n");
        let collected = trap.everything();
        assert_eq!(collected.findings, [], "{row}");
        assert!(trap.job.files(&trap.job.main()).contains(&"uncommitted=3".to_owned()), "{row}");
    }
}

#[test]
fn no_included_configuration_counts() {
    let trap = Trap::new();
    let evil = trap.program.to_str().unwrap();
    trap.job.write("included", format!("[core]\n\tfsmonitor = {evil}\n[alias]\n\tlog = !{evil}\n"));
    trap.configure("[include]\n\tpath = ../included\n[includeIf \"gitdir:/\"]\n\tpath = ../included");
    trap.job.write(".git/config.worktree", format!("[core]\n\tfsmonitor = {evil}\n"));
    trap.configure("[extensions]\n\tworktreeConfig = true");
    trap.everything();
}

#[test]
fn attributes_in_a_tree_find_no_program_on_the_way_back() {
    // The engine's own environment is hostile too.
    let trap = Trap::new();
    trap.job.write(
        ".gitattributes",
        "* filter=x diff=x merge=x text eol=crlf\n*.txt working-tree-encoding=UTF-32\n",
    );
    trap.job.write("b.txt", "changed\n");
    trap.everything();
    assert_eq!(fs::read(trap.job.clone.join("b.txt")).unwrap(), b"changed\n");
}

#[test]
fn objects_from_elsewhere_do_not_leak() {
    let trap = Trap::new();
    let secret = trap.job.dir.path().join("secret");
    fs::create_dir(&secret).unwrap();
    sh(&secret, &["init", "-q"]);
    fs::write(secret.join("key"), "TOP SECRET").unwrap();
    sh(&secret, &["add", "-A"]);
    sh(&secret, &["commit", "-q", "-m", "secret"]);
    let tree = sh(&secret, &["rev-parse", "HEAD^{tree}"]);
    // A commit whose tree only the other repository has, reachable by a borrowed directory of objects.
    fs::create_dir_all(trap.job.clone.join(".git/objects/info")).unwrap();
    trap.job.write(".git/objects/info/alternates", format!("{}\n", secret.join(".git/objects").display()));
    let commit = trap.job.agent_git(&["commit-tree", &tree, "-p", "HEAD", "-m", "leak"]);
    let branch = trap.job.branch.to_string();
    trap.job.write(&format!(".git/refs/heads/{branch}"), commit);
    let collected = trap.everything();
    assert!(matches!(collected.findings[..], [Finding::HistoryLost { .. }]), "{:?}", collected.findings);
    let blob = sh(&secret, &["rev-parse", "HEAD:key"]);
    let known =
        Command::new("git").current_dir(trap.job.bare.path()).args(["cat-file", "-e", &blob]).status();
    assert!(!known.unwrap().success(), "the secret is in the job's repository");
}

#[test]
fn links_are_links() {
    let trap = Trap::new();
    let clone = &trap.job.clone;
    let outside = trap.job.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "TOP SECRET").unwrap();
    symlink("/etc/passwd", clone.join("passwd")).unwrap();
    symlink(&outside, clone.join("dir")).unwrap();
    symlink("../outside", clone.join("up")).unwrap();
    symlink("a", clone.join("inside")).unwrap();
    symlink("loop", clone.join("loop")).unwrap();
    fs::remove_file(clone.join("b.txt")).unwrap();
    symlink(outside.join("secret"), clone.join("b.txt")).unwrap();
    symlink(outside.join("secret"), clone.join(".gitignore")).unwrap();
    let collected = trap.everything();
    assert_eq!(collected.findings.len(), 5, "{:?}", collected.findings);
    let main = trap.job.main();
    let files = trap.job.files(&main);
    assert!(files.contains(&"passwd=/etc/passwd".to_owned()), "{files:?}");
    assert!(!files.iter().any(|file| file.contains("SECRET") || file.contains("root:")), "{files:?}");
    assert!(!files.iter().any(|file| file.starts_with("dir/") || file.starts_with("up/")), "{files:?}");
    let kinds = trap.job.bare.list_files(&main).unwrap();
    assert_eq!(kinds.iter().filter(|entry| entry.kind == EntryKind::Link).count(), 7);
}

#[test]
fn a_directory_that_became_a_link_is_not_entered() {
    let trap = Trap::new();
    trap.job.write("dir/x", "inside");
    trap.everything();
    let outside = trap.job.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "TOP SECRET").unwrap();
    fs::remove_dir_all(trap.job.clone.join("dir")).unwrap();
    symlink(&outside, trap.job.clone.join("dir")).unwrap();
    trap.job.collect();
    let files = trap.job.files(&trap.job.head());
    assert!(!files.iter().any(|file| file.contains("SECRET")), "{files:?}");
}

#[test]
fn a_clone_that_became_a_link_is_refused() {
    let trap = Trap::new();
    let moved = trap.job.dir.path().join("moved");
    fs::rename(&trap.job.clone, &moved).unwrap();
    symlink("/etc", &trap.job.clone).unwrap();
    let error = trap.job.bare.collect(&trap.job.request(&agent(), &engine(), Limits::default())).unwrap_err();
    assert!(matches!(error, ForgeError::File { .. }), "{error}");
    trap.job.bare.discard_clone(&trap.job.clone).unwrap();
    assert!(Path::new("/etc/passwd").exists());
}

#[test]
fn a_repository_that_is_another_one_is_not_followed() {
    let other = |trap: &Trap| {
        let place = trap.job.dir.path().join("other");
        fs::create_dir(&place).unwrap();
        sh(&place, &["init", "-q"]);
        fs::write(place.join("secret"), "TOP SECRET").unwrap();
        sh(&place, &["add", "-A"]);
        sh(&place, &["commit", "-q", "-m", "other"]);
        place.join(".git")
    };
    let replace: [fn(&Path, &Path); 2] = [
        |git, other| fs::write(git, format!("gitdir: {}\n", other.display())).unwrap(),
        |git, other| symlink(other, git).unwrap(),
    ];
    for replace in replace {
        let trap = Trap::new();
        let other = other(&trap);
        trap.job.write("b", "2");
        fs::remove_dir_all(trap.job.clone.join(".git")).unwrap();
        replace(&trap.job.clone.join(".git"), &other);
        let collected = trap.everything();
        assert!(matches!(collected.findings[..], [Finding::HistoryLost { .. }]), "{:?}", collected.findings);
        assert_eq!(trap.job.files(&trap.job.main()), ["a=1\n", "b=2", "b.txt=b\n"]);
    }
}

#[test]
fn nested_repositories_and_submodules_are_files_only() {
    let trap = Trap::new();
    let nested = trap.job.clone.join("nested");
    fs::create_dir(&nested).unwrap();
    sh(&nested, &["init", "-q"]);
    fs::write(nested.join("file"), "inner").unwrap();
    sh(&nested, &["add", "-A"]);
    sh(&nested, &["commit", "-q", "-m", "inner"]);
    fs::create_dir_all(nested.join(".git/hooks")).unwrap();
    fs::write(
        nested.join(".git/config"),
        format!("[core]\n\tfsmonitor = {0}\n\thooksPath = {0}\n", trap.program.display()),
    )
    .unwrap();
    let url = format!("file://{}", nested.display());
    trap.job.write(
        ".gitmodules",
        format!(
            "[submodule \"s\"]\n\tpath = nested\n\turl = {url}\n\tupdate = !{}\n",
            trap.program.display()
        ),
    );
    let collected = trap.everything();
    assert_eq!(collected.findings, [Finding::NestedRepository { path: "nested".into() }]);
    let files = trap.job.files(&trap.job.main());
    assert!(files.contains(&"nested/file=inner".to_owned()));
    assert!(!files.iter().any(|file| file.contains(".git/")), "{files:?}");
}

#[test]
fn names_that_git_refuses_stay_out_so_that_the_next_clone_works() {
    let trap = Trap::new();
    for name in [".GIT", "sub/.Git", "git~1", "sub/.git ", ".g\u{200c}it"] {
        trap.job
            .write(&format!("{name}/config"), format!("[core]\n\tfsmonitor = {}\n", trap.program.display()));
    }
    symlink("a", trap.job.clone.join(".gitmodules")).unwrap();
    let collected = trap.everything();
    assert_eq!(collected.findings.len(), 6, "{:?}", collected.findings);
    assert_eq!(trap.job.files(&trap.job.main()), ["a=1\n", "b.txt=b\n"]);
}

/// Makes a tree as an agent can; lines as `git ls-tree` prints them.
fn tree(job: &Job, lines: &str) -> String {
    let mut child = Command::new("git")
        .current_dir(&job.clone)
        .arg("mktree")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
}

/// Commits a tree as the agent.
fn commit_tree(job: &Job, tree: &str) {
    let commit = job.agent_git(&["commit-tree", tree, "-p", "HEAD", "-m", "evil"]);
    job.agent_git(&["update-ref", "HEAD", &commit]);
}

#[test]
fn a_committed_tree_with_a_repository_in_it_is_refused() {
    let trap = Trap::new();
    let blob = trap.job.agent_git(&["hash-object", "-w", "a"]);
    let inner = tree(&trap.job, &format!("100644 blob {blob}\tconfig\n"));
    commit_tree(&trap.job, &tree(&trap.job, &format!("040000 tree {inner}\t.git\n")));
    let collected = trap.everything();
    assert!(matches!(collected.findings[..], [Finding::HistoryLost { .. }]), "{:?}", collected.findings);
    assert_eq!(trap.job.files(&trap.job.main()), ["a=1\n", "b.txt=b\n"]);
}

#[test]
fn pipes_and_sockets_hold_nobody_up() {
    let trap = Trap::new();
    let started = Instant::now();
    for path in ["pipe", ".gitignore"] {
        let made = Command::new("mkfifo").arg(trap.job.clone.join(path)).status().unwrap();
        assert!(made.success());
    }
    let _socket = std::os::unix::net::UnixListener::bind(trap.job.clone.join("socket")).unwrap();
    let collected = trap.everything();
    assert_eq!(collected.findings.len(), 3, "{:?}", collected.findings);
    assert!(started.elapsed() < Duration::from_secs(30));

    // A pipe where the agent's head or objects should be.
    for path in [".git/HEAD", ".git/objects/00/11"] {
        let trap = Trap::new();
        trap.job.write("b", "2");
        commit_by_agent(&trap.job);
        let path = trap.job.clone.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let collected = trap.everything();
        assert!(matches!(collected.findings[..], [Finding::HistoryLost { .. }]), "{:?}", collected.findings);
    }
}

#[test]
fn deep_directories_are_reported() {
    let trap = Trap::new();
    trap.job.write(&format!("{}x", "d/".repeat(200)), "deep");
    let collected = trap.everything();
    assert!(matches!(collected.findings[..], [Finding::TooDeep { .. }]), "{:?}", collected.findings);
}

#[test]
fn replaced_objects_and_grafts_do_not_count() {
    let trap = Trap::new();
    trap.job.write("b", "2");
    commit_by_agent(&trap.job);
    let head = trap.job.agent_git(&["rev-parse", "HEAD"]);
    let parent = trap.job.agent_git(&["rev-parse", "HEAD^"]);
    trap.job.write(".git/info/grafts", format!("{parent}\n"));
    fs::create_dir_all(trap.job.clone.join(".git/refs/replace")).unwrap();
    trap.job.write(&format!(".git/refs/replace/{head}"), parent);
    trap.everything();
    assert_eq!(trap.job.files(&trap.job.main()), ["a=1\n", "b=2", "b.txt=b\n"]);
}

#[test]
fn permissions_that_were_taken_away_delete_nothing() {
    let trap = Trap::new();
    trap.job.write("dir/x", "kept");
    trap.everything();
    fs::set_permissions(trap.job.clone.join("dir"), Permissions::from_mode(0o000)).unwrap();
    trap.job.collect();
    assert!(trap.job.files(&trap.job.head()).contains(&"dir/x=kept".to_owned()));
    // Nor do those of the clone itself.
    trap.job.write("y", "new");
    fs::set_permissions(&trap.job.clone, Permissions::from_mode(0o000)).unwrap();
    let collected = trap.job.collect();
    let files = trap.job.files(&trap.job.head());
    assert!(files.contains(&"dir/x=kept".to_owned()) && files.contains(&"y=new".to_owned()), "{files:?}");
    trap.job.bare.rest_clone(&trap.job.clone, &collected).unwrap();
    assert!(!trap.job.clone.exists());
    trap.job.clone_again();
    fs::set_permissions(&trap.job.clone, Permissions::from_mode(0o000)).unwrap();
    trap.job.bare.discard_clone(&trap.job.clone).unwrap();
    assert!(!trap.job.clone.exists());
}

/// So many trees of so many trees, so many times over.
fn nested(job: &Job, first: &str, width: usize, levels: usize, name: &str) -> String {
    (0..levels).fold(first.to_owned(), |below, _| {
        let lines: String = (0..width).map(|n| format!("040000 tree {below}\t{name}{n}\n")).collect();
        tree(job, &lines)
    })
}

#[test]
fn trees_that_repeat_are_not_written_out() {
    let file = |job: &Job| {
        let blob = job.agent_git(&["hash-object", "-w", "a"]);
        tree(job, &format!("100644 blob {blob}\tx\n"))
    };
    type Bomb = fn(&Job, String) -> String;
    let rows: [(&str, Bomb); 5] = [
        ("a billion files", |job, file| nested(job, &file, 10, 9, "d")),
        ("no files, and a billion directories", |job, _| {
            let empty = tree(job, "");
            nested(job, &empty, 10, 9, "d")
        }),
        ("few files with long paths", |job, file| nested(job, &file, 2, 17, &"n".repeat(200))),
        ("one file that is deep", |job, file| nested(job, &file, 1, 300, "d")),
        ("what the branch has, again and again", |job, _| {
            let had = job.agent_git(&["rev-parse", "HEAD^{tree}"]);
            nested(job, &had, 100, 4, "d")
        }),
    ];
    for (case, bomb) in rows {
        let trap = Trap::new();
        let job = &trap.job;
        let started = Instant::now();
        commit_tree(job, &bomb(job, file(job)));
        // One that is gone again in the commit after it is in the history all the same.
        commit_tree(job, &job.agent_git(&["rev-parse", "HEAD~1^{tree}"]));
        job.write("b", "2");
        assert_eq!(
            job.bare.take_commits(&job.request(&agent(), &engine(), Limits::default())).unwrap(),
            None,
            "{case}"
        );
        let collected = trap.everything();
        let [finding @ Finding::HistoryTooLarge { .. }] = &collected.findings[..] else {
            panic!("{case}: {:?}", collected.findings);
        };
        assert!(finding.is_oversized(), "{case}");
        assert_eq!(job.files(&job.main()), ["a=1\n", "b=2", "b.txt=b\n"], "{case}");
        assert!(started.elapsed() < Duration::from_secs(60), "{case}");
    }
}

/// A file of the clone's own repository that says it unpacks to 20 GB.
fn claims_to_be_huge(job: &Job, kind: &str) -> String {
    let said = format!("{kind} 20000000000\0");
    let (low, high) = said.bytes().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(byte)) % 65521;
        (low, (high + low) % 65521)
    });
    // One block that is stored as it is.
    let length = u16::try_from(said.len()).unwrap();
    let mut bytes = vec![0x78, 0x01, 0x01];
    bytes.extend(length.to_le_bytes());
    bytes.extend((!length).to_le_bytes());
    bytes.extend(said.bytes());
    bytes.extend(((high << 16) | low).to_be_bytes());
    job.write(&format!(".git/objects/ab/{}", "ab".repeat(19)), bytes);
    "ab".repeat(20)
}

#[test]
fn objects_that_are_too_large_are_not_unpacked() {
    let small = Limits { file_bytes: 1_000, commits_bytes: 5_000, ..Limits::default() };
    let blob = |job: &Job, bytes: usize, letter: &str| {
        job.write("blob", letter.repeat(bytes));
        let blob = job.agent_git(&["hash-object", "-w", "blob"]);
        fs::remove_file(job.clone.join("blob")).unwrap();
        blob
    };
    let head = |job: &Job, oid: &str| {
        let branch = job.agent_git(&["symbolic-ref", "HEAD"]);
        job.write(&format!(".git/{branch}"), format!("{oid}\n"));
    };
    let missing = |job: &Job, kind: &str| {
        let object = claims_to_be_huge(job, kind);
        let mode = if kind == "tree" { "040000" } else { "100644" };
        let lines = format!("{mode} {kind} {object}\tzz\n");
        let mut child = Command::new("git")
            .current_dir(&job.clone)
            .args(["mktree", "--missing"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
        let tree = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let commit = job.agent_git(&["commit-tree", tree.trim(), "-p", "HEAD", "-m", "evil"]);
        head(job, &commit);
    };
    type Bomb<'a> = &'a dyn Fn(&Job);
    let rows: [(&str, Limits, Bomb<'_>); 6] = [
        ("one file", small, &|job| {
            commit_tree(job, &tree(job, &format!("100644 blob {}\tx\n", blob(job, 1_001, "x"))));
        }),
        ("all files together", small, &|job| {
            let line = |letter: &str| format!("100644 blob {}\t{letter}\n", blob(job, 900, letter));
            commit_tree(job, &tree(job, &["p", "q", "r", "s", "t", "u"].map(line).concat()));
        }),
        ("one file again and again", small, &|job| {
            let blob = blob(job, 900, "x");
            let lines: String = (0..9).map(|n| format!("100644 blob {blob}\t{n}\n")).collect();
            commit_tree(job, &tree(job, &lines));
        }),
        ("a blob of 20 GB", Limits::default(), &|job| missing(job, "blob")),
        ("a tree of 20 GB", Limits::default(), &|job| missing(job, "tree")),
        ("a commit of 20 GB", Limits::default(), &|job| head(job, &claims_to_be_huge(job, "commit"))),
    ];
    for (case, limits, bomb) in rows {
        let trap = Trap::new();
        let job = &trap.job;
        bomb(job);
        job.write("b", "2");
        let started = Instant::now();
        let taken = job.bare.take_commits(&job.request(&agent(), &engine(), limits));
        assert_eq!(taken.unwrap(), None, "{case}");
        let collected = job.collect_with(limits);
        let [finding @ Finding::HistoryTooLarge { .. }] = &collected.findings[..] else {
            panic!("{case}: {:?}", collected.findings);
        };
        assert!(finding.is_oversized(), "{case}");
        assert_eq!(job.files(&job.head()), ["a=1\n", "b=2", "b.txt=b\n"], "{case}");
        assert!(started.elapsed() < Duration::from_secs(20), "{case}");
    }
}

#[test]
fn calls_of_git_can_be_stopped() {
    let job = Job::with(&[("a", "1\n")]);
    job.write("a", "2\n");
    let stop = Stop::default();
    let bare = job.bare.clone().with_stop(stop.clone());
    let (agent, engine) = (agent(), engine());
    let request = job.request(&agent, &engine, Limits::default());
    stop.stop();
    let stopped = bare.collect(&request);
    assert!(matches!(stopped, Err(ForgeError::Stopped { .. })), "{stopped:?}");
    // What it was to take is still there for whoever comes next.
    assert_eq!(job.collect().files_changed, [TreePath::from("a")]);
}

#[test]
fn many_trees_that_differ_are_taken() {
    let trap = Trap::new();
    for number in 0..300 {
        trap.job.write(&format!("d{number}/e/f"), number.to_string());
    }
    commit_by_agent(&trap.job);
    let collected = trap.everything();
    assert_eq!(collected.findings, []);
    assert_eq!(trap.job.files(&trap.job.main()).len(), 302);
}

/// Deeper than any path is long, and than there are handles: as an agent makes them, step by step.
fn dig(top: &Path, levels: usize) {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let open = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut at = openat(CWD, top, open, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&at, "directory", Mode::RWXU).unwrap();
        at = openat(&at, "directory", open, Mode::empty()).unwrap();
    }
}

#[test]
fn whatever_an_agent_left_can_be_removed() {
    let trap = Trap::new();
    let clone = &trap.job.clone;
    let outside = trap.job.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "kept").unwrap();
    dig(clone, 5000);
    fs::create_dir(clone.join(".up-1")).unwrap();
    fs::write(clone.join(".up-2"), "").unwrap();
    fs::create_dir(clone.join("many")).unwrap();
    (0..5000).for_each(|number| fs::write(clone.join(format!("many/{number}")), "").unwrap());
    symlink(&outside, clone.join("many/link")).unwrap();
    symlink(&outside, clone.join("directory/directory/link")).unwrap();
    fs::create_dir_all(clone.join("shut/shut/shut")).unwrap();
    for path in ["shut/shut/shut", "shut/shut", "shut"] {
        fs::set_permissions(clone.join(path), Permissions::from_mode(0o000)).unwrap();
    }
    fs::set_permissions(clone.join("many"), Permissions::from_mode(0o500)).unwrap();
    trap.job.collect();
    trap.job.bare.discard_clone(clone).unwrap();
    assert!(!clone.exists());
    let left: Vec<_> =
        fs::read_dir(clone.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".removing")), "{left:?}");
    assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "kept");
}

/// Root may do what others may not: what is about permissions is tried as an ordinary user, too.
#[test]
fn permissions_stop_no_ordinary_user_either() {
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    for test in ["whatever_an_agent_left_can_be_removed", "permissions_that_were_taken_away_delete_nothing"] {
        let mut command = Command::new(&program);
        command.args([test, "--exact"]).uid(65534).gid(65534).env("HOME", "/nonexistent").current_dir("/");
        let ran = command.output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success() && said.contains("1 passed"), "{test}: {said}");
    }
}
