//! A job's branches show in the repository the job started from, and what people do there is taken over.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail like tests")]

mod support;

use std::path::Path;

use checkrein_core::boundary::PhaseKind;
use checkrein_forge::*;
use support::*;

struct Mirrored {
    dir: tempfile::TempDir,
    bare: Bare,
    source: Source,
    branch: Branch,
}

impl Mirrored {
    fn new() -> Mirrored {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("theirs");
        std::fs::create_dir(&theirs).unwrap();
        run(&theirs, &["init", "-q", "-b", "main"]);
        std::fs::write(theirs.join("a"), "one\n").unwrap();
        commit(&theirs, "first");
        let source = Source::look(&git(), &theirs, None).unwrap();
        let names = Names::within("j1").unwrap();
        let bare = Bare::create_from(&git(), &dir.path().join("job.git"), names, &source).unwrap();
        let branch = bare.names().phase(1, PhaseKind::Strategic, 1);
        let main = bare.head(&bare.names().main()).unwrap().unwrap();
        bare.cut_branch(&branch, &main).unwrap();
        Mirrored { dir, bare, source, branch }
    }

    fn theirs(&self) -> std::path::PathBuf {
        self.dir.path().join("theirs")
    }

    fn write(&self, text: &str) -> Oid {
        let onto = self.bare.head(&self.branch).unwrap().unwrap();
        let changes = [FileChange::Write { path: "plan.md".into(), content: text.as_bytes().to_vec() }];
        let by = engine().at(NOW);
        self.bare
            .commit_files(&FilesCommit {
                branch: &self.branch,
                onto: &onto,
                by: &by,
                message: "plan\n",
                changes: &changes,
            })
            .unwrap()
    }

    fn there(&self) -> String {
        run(
            &self.theirs(),
            &["for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads/checkrein"],
        )
    }
}

fn run(directory: &Path, arguments: &[&str]) -> String {
    let ran = std::process::Command::new("git").args(arguments).current_dir(directory).output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

fn commit(directory: &Path, message: &str) -> String {
    run(directory, &["add", "-A"]);
    run(directory, &["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-qm", message]);
    run(directory, &["rev-parse", "HEAD"]).trim().to_owned()
}

#[test]
fn a_branch_shows_moves_and_goes() {
    let job = Mirrored::new();
    let first = job.write("one\n");
    assert!(job.bare.mirror(&job.source, &job.branch).unwrap());
    assert_eq!(job.there(), format!("checkrein/j1/phase-1-strategic {first}\n"));
    let second = job.write("two\n");
    assert!(job.bare.mirror(&job.source, &job.branch).unwrap());
    assert_eq!(job.there(), format!("checkrein/j1/phase-1-strategic {second}\n"));
    job.bare.unmirror(&job.source, &job.branch, &first).unwrap();
    assert!(!job.there().is_empty(), "only what was shown is taken away");
    job.bare.unmirror(&job.source, &job.branch, &second).unwrap();
    assert_eq!(job.there(), "");
}

#[test]
fn what_people_commit_there_is_taken_over_and_never_overwritten() {
    let job = Mirrored::new();
    job.write("one\n");
    job.bare.mirror(&job.source, &job.branch).unwrap();
    run(&job.theirs(), &["switch", "-q", "checkrein/j1/phase-1-strategic"]);
    std::fs::write(job.theirs().join("plan.md"), "mine\n").unwrap();
    let mine = commit(&job.theirs(), "my words");
    // It is ahead and checked out: nothing is done to it.
    assert!(!job.bare.mirror(&job.source, &job.branch).unwrap());
    let taken = job.bare.take_mirrored(&job.source, &job.branch).unwrap();
    assert_eq!(taken.as_ref().map(Oid::as_str), Some(mine.as_str()));
    assert_eq!(job.bare.head(&job.branch).unwrap(), taken);
    assert_eq!(job.bare.take_mirrored(&job.source, &job.branch).unwrap(), None, "once");
    // The agent goes on; what is checked out stays as it is.
    job.write("both\n");
    assert!(!job.bare.mirror(&job.source, &job.branch).unwrap());
    assert_eq!(std::fs::read_to_string(job.theirs().join("plan.md")).unwrap(), "mine\n");
}

#[test]
fn another_history_under_the_name_is_left_alone() {
    let job = Mirrored::new();
    let head = job.write("one\n");
    run(&job.theirs(), &["checkout", "-q", "--orphan", "checkrein/j1/phase-1-strategic"]);
    commit(&job.theirs(), "elsewhere");
    assert_eq!(job.bare.take_mirrored(&job.source, &job.branch).unwrap(), None);
    assert!(!job.bare.mirror(&job.source, &job.branch).unwrap());
    assert_eq!(job.bare.head(&job.branch).unwrap(), Some(head));
}
