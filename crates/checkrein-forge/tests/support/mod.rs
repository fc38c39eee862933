//! A job's repository with real git in a temporary directory.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]
#![allow(dead_code, reason = "not every test uses every helper")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use checkrein_core::boundary::PhaseKind;
use checkrein_forge::*;
use tempfile::TempDir;

pub const NOW: i64 = 1_800_000_000;

pub struct Job {
    pub dir: TempDir,
    pub git: Git,
    pub bare: Bare,
    pub branch: Branch,
    pub clone: PathBuf,
}

pub fn git() -> Git {
    Git::find_in(&std::env::var_os("PATH").unwrap()).unwrap()
}

pub fn agent() -> Identity {
    Identity::new("agent", "agent@checkrein.invalid").unwrap()
}

pub fn engine() -> Identity {
    Identity::new("checkrein", "engine@checkrein.invalid").unwrap()
}

impl Job {
    /// A job with these files on main and a clone of its first tactical phase.
    pub fn with(files: &[(&str, &str)]) -> Job {
        let job = Job::bare(files);
        job.clone_again();
        job
    }

    pub fn bare(files: &[(&str, &str)]) -> Job {
        let dir = tempfile::tempdir().unwrap();
        let git = git();
        let bare = Bare::create(&git, &dir.path().join("job.git"), Names::Own, &engine().at(NOW)).unwrap();
        let main = bare.names().main();
        let changes: Vec<FileChange> = files
            .iter()
            .map(|(path, text)| FileChange::Write { path: (*path).into(), content: text.as_bytes().to_vec() })
            .collect();
        let onto = bare.head(&main).unwrap().unwrap();
        let head = bare
            .commit_files(&FilesCommit {
                branch: &main,
                onto: &onto,
                by: &engine().at(NOW),
                message: "base\n",
                changes: &changes,
            })
            .unwrap();
        let branch = bare.names().phase(2, PhaseKind::Tactical, 1);
        bare.cut_branch(&branch, &head).unwrap();
        let clone = dir.path().join("clone");
        Job { dir, git, bare, branch, clone }
    }

    pub fn clone_again(&self) {
        self.bare.discard_clone(&self.clone).unwrap();
        self.bare.create_clone(&self.clone, &self.branch, &agent()).unwrap();
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.clone.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn collect(&self) -> Collected {
        self.collect_with(Limits::default())
    }

    pub fn collect_with(&self, limits: Limits) -> Collected {
        self.bare.collect(&self.request(&agent(), &engine(), limits)).unwrap()
    }

    pub fn request<'a>(&'a self, agent: &'a Identity, engine: &'a Identity, limits: Limits) -> Collect<'a> {
        Collect {
            clone: &self.clone,
            branch: &self.branch,
            agent,
            engine,
            at_seconds: NOW + 60,
            message: "what was left\n",
            limits,
        }
    }

    pub fn head(&self) -> Oid {
        self.bare.head(&self.branch).unwrap().unwrap()
    }

    pub fn main(&self) -> Oid {
        self.bare.head(&self.bare.names().main()).unwrap().unwrap()
    }

    pub fn merge(&self, how: Merge) -> Merged {
        let (head, onto) = (self.head(), self.main());
        self.merge_at(how, &head, &onto).unwrap()
    }

    pub fn merge_at(&self, how: Merge, head: &Oid, onto: &Oid) -> Result<Merged, ForgeError> {
        self.bare.merge(&MergeRequest {
            how,
            head,
            into: &self.bare.names().main(),
            onto,
            by: &engine().at(NOW + 120),
            message: "phase 2 (tactical): done\n",
        })
    }

    /// Every file of a commit as `path=content`.
    pub fn files(&self, commit: &Oid) -> Vec<String> {
        let entries = self.bare.list_files(commit).unwrap();
        entries.iter().map(|entry| format!("{}={}", entry.path, self.text(commit, entry))).collect()
    }

    fn text(&self, commit: &Oid, entry: &TreeEntry) -> String {
        let content = self.bare.show_file(commit, &entry.path, 1 << 20).unwrap();
        String::from_utf8_lossy(&content.bytes).into_owned()
    }

    /// A person's commit, pushed to the phase branch from a clone of their own.
    pub fn person_pushes(&self, files: &[(&str, &str)]) -> Oid {
        let place = tempfile::tempdir_in(self.dir.path()).unwrap();
        let bare = self.bare.path().to_str().unwrap();
        sh(place.path(), &["clone", "-q", "-b", self.branch.as_str(), bare, "."]);
        for (path, text) in files {
            fs::write(place.path().join(path), text).unwrap();
        }
        sh(place.path(), &["add", "-A"]);
        sh(place.path(), &["commit", "-q", "-m", "by hand"]);
        sh(place.path(), &["push", "-q"]);
        self.head()
    }

    /// Git as the agent runs it, in its clone.
    pub fn agent_git(&self, arguments: &[&str]) -> String {
        sh(&self.clone, arguments)
    }
}

/// Git as a person runs it.
pub fn sh(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(directory)
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
