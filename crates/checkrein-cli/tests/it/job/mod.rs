//! Jobs with scripted agents, one file per area: real git, real processes.

mod base;
mod branch;
mod cancel;
mod chat;
mod clone;
mod comment;
mod given;
mod hostile;
mod human;
mod kill;
mod level;
mod protected;
mod repository;
mod result;
mod rework;
mod search;
mod secret;
mod shown;
mod timeout;

#[path = "../../../../checkrein-store/tests/shared/postgres.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
pub mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::place::{Place, Ran};
use crate::run::{Ann, data, expect, logged, of_type, show, waits_at};

/// What every scripted agent begins with. Each attempt leaves a line in `calls`, and what it read on
/// standard input in `brief.N`.
const PRELUDE: &str = r##"here=$(dirname "$0") n=$CHECKREIN_PHASE_NUMBER r=$CHECKREIN_ROUND
echo "$n $CHECKREIN_PHASE_KIND $r" >> "$here/calls"
call=$(wc -l < "$here/calls")
cat > "$here/brief.$call"
answer() { printf '%s\n' "$1" > "$CHECKREIN_RESULT"; }
plan() { echo "# Plan of $n.$r" > plan.md; answer '{"summary":"planned","next_todos":["write it","read it"]}'; }
work() { echo "work of $n.$r" > "work-$n"; answer '{"summary":"worked"}'; }
complete() { answer '{"outcome":"job_complete","summary":"all is done"}'; }
usual() {
  case $n.$CHECKREIN_PHASE_KIND in
    *.tactical) work ;;
    1.*) plan ;;
    *[02468].*) answer '{"next_todos":["correct it"]}' ;;
    *) complete ;;
  esac
}
"##;

/// A place with an agent in it.
pub fn scene(agent: &str) -> Place {
    Place::new().file("agent", &format!("{PRELUDE}{agent}\n"))
}

/// A repository in `repo` with a file on `main`, its owner's name and nothing else.
pub fn with_repository(place: Place) -> Place {
    let place = place.file("repo/readme", "hello\n");
    let repo = place.path().join("repo");
    git(&repo, &["init", "--quiet", "--initial-branch=main"]);
    commit(&repo, "first");
    place
}

/// Commits everything in a working tree as its person.
pub fn commit(repo: &Path, message: &str) -> String {
    git(repo, &["add", "--all"]);
    git(repo, &["commit", "--quiet", "--message", message]);
    git(repo, &["rev-parse", "HEAD"])
}

/// What git says, as carla who owns the repository.
pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let (said, code) = try_git(directory, arguments);
    assert_eq!(code, 0, "git {arguments:?}: {said}");
    said
}

pub fn try_git(directory: &Path, arguments: &[&str]) -> (String, i32) {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(arguments).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/nonexistent");
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "carla")
            .env(format!("GIT_{role}_EMAIL"), "carla@example.org");
    }
    let output = command.output().unwrap();
    let code = output.status.code().unwrap();
    let said = if code == 0 { output.stdout } else { [output.stdout, output.stderr].concat() };
    (String::from_utf8_lossy(&said).trim_end().to_owned(), code)
}

/// A job that was given, and somebody who reviews it.
pub struct Job {
    pub place: Place,
    pub id: String,
    pub ann: Ann,
    /// What the command that gave it said.
    pub given: Ran,
}

/// Gives a job that comes to rest with this exit code.
pub fn job(place: Place, more: &[&str], code: i32) -> Job {
    let given = give(&place, more);
    expect(&given, code);
    let (id, ann) = (id_of(&given), Ann::of(&place));
    Job { place, id, ann, given }
}

pub fn give(place: &Place, more: &[&str]) -> Ran {
    let agent = agent_of(place);
    place.run(&[&["job", "Write a letter", "--agent", &agent], more].concat())
}

pub fn agent_of(place: &Place) -> String {
    format!("sh {}", place.path().join("agent").display())
}

/// The job a command spoke of.
pub fn id_of(ran: &Ran) -> String {
    let line = ran.stderr.lines().find_map(|line| line.strip_prefix("note: job "));
    line.unwrap_or_else(|| panic!("no job: {}", ran.seen())).to_owned()
}

impl Job {
    pub fn show(&self) -> Value {
        show(&self.place, &self.id)
    }

    pub fn status(&self) -> String {
        self.show()["status"].as_str().unwrap().to_owned()
    }

    /// The checkpoint it waits at.
    pub fn waits_at(&self) -> String {
        waits_at(&self.place, &self.id)
    }

    /// What it waits for, as a program sees it.
    pub fn review(&self) -> Value {
        self.place.run(&["checkpoint", "show", &self.waits_at(), "--json"]).json()
    }

    pub fn asked(&self) -> Value {
        self.review()["deliverable"].clone()
    }

    /// Ann says something about what it waits for: a verdict and what goes with it.
    pub fn ann(&self, verdict: &str, more: &[&str], code: i32) -> Ran {
        let at = self.waits_at();
        let said = self.ann.says(&self.place, &[&[verdict, &at], more].concat());
        expect(&said, code);
        said
    }

    pub fn resume(&self, code: i32) -> Ran {
        let ran = self.place.run(&["resume", &self.id]);
        expect(&ran, code);
        ran
    }

    /// Approves, and goes on until it rests.
    pub fn approve(&self, code: i32) -> Ran {
        self.ann("approve", &[], 0);
        self.resume(code)
    }

    /// Approves also what is not shown (R17), and goes on until it rests.
    pub fn approve_unseen(&self, code: i32) -> Ran {
        self.ann("approve", &["--confirm"], 0);
        self.resume(code)
    }

    /// Requests changes, and goes on until it rests.
    pub fn change(&self, more: &[&str], code: i32) -> Ran {
        self.ann("request-changes", &[&["-m", "shorter, please"], more].concat(), 0);
        self.resume(code)
    }

    /// `number kind round` of each attempt.
    pub fn calls(&self) -> Vec<String> {
        self.place.read("calls").lines().map(str::to_owned).collect()
    }

    /// What the agent was told in its Nth attempt.
    pub fn brief(&self, call: usize) -> String {
        self.place.read(&format!("brief.{call}"))
    }

    /// The repository people clone from and push to.
    pub fn repository(&self) -> PathBuf {
        data(&self.place, &format!("jobs/{}/repository.git", self.id))
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.repository(), arguments)
    }

    /// All branches there are.
    pub fn branches(&self) -> Vec<String> {
        let branches = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        branches.lines().map(str::to_owned).collect()
    }

    /// The files of a commit.
    pub fn files(&self, commit: &str) -> Vec<String> {
        self.git(&["ls-tree", "-r", "--name-only", commit]).lines().map(str::to_owned).collect()
    }

    /// A file of a commit.
    pub fn file(&self, commit: &str, path: &str) -> String {
        self.git(&["show", &format!("{commit}:{path}")])
    }

    /// The titles on a branch, oldest first.
    pub fn titles(&self, branch: &str) -> Vec<String> {
        self.git(&["log", "--reverse", "--format=%s", branch]).lines().map(str::to_owned).collect()
    }

    /// A clone of a person's own, on a branch.
    pub fn cloned(&self, name: &str, branch: &str) -> PathBuf {
        let (from, to) = (self.repository(), self.place.path().join(name));
        let (from, to_text) = (from.to_str().unwrap(), to.to_str().unwrap());
        git(self.place.path(), &["clone", "--quiet", "--branch", branch, from, to_text]);
        to
    }

    /// What happened, by the word for it.
    pub fn events(&self) -> Vec<Value> {
        let ran = self.place.run(&["store", "export"]);
        let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["stream"] == self.id.as_str()).map(|mut line| line["event"].take()).collect()
    }

    /// The texts of all findings.
    pub fn found(&self) -> String {
        let of = |record: &Value, kind: &str| record[kind].as_array().cloned().unwrap_or_default();
        let records = of_type(&logged(&self.place, &self.id), "step-response");
        let found = records.iter().flat_map(|record| [of(record, "warnings"), of(record, "errors")].concat());
        found.map(|finding| format!("{}\n", finding["text"].as_str().unwrap_or_default())).collect()
    }

    pub fn events_of(&self, word: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["event"] == word).collect()
    }
}

/// Pushes a change of one file to a branch under review, as carla; its commit.
pub fn push(clone: &Path, file: &str, text: &str) -> String {
    fs::write(clone.join(file), text).unwrap();
    let commit = commit(clone, &format!("carla changes {file}"));
    git(clone, &["push", "--quiet"]);
    commit
}
