//! What is to be run, and how it ended.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One try, as a process. It has no `Debug`: its environment and its secrets belong into no log.
#[derive(Clone)]
pub struct Attempt {
    /// Unlike that of any other attempt; every process of it carries this in its environment.
    pub key: String,
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The whole environment; nothing else is handed down.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    pub stdin: Stdin,
    /// How long it may take.
    pub wall: Option<Duration>,
    /// How long it may be silent on both streams.
    pub idle: Option<Duration>,
    /// The time between being told to end and being killed.
    pub grace: Duration,
    /// Where its output goes; the directories are there.
    pub stdout: PathBuf,
    pub stderr: PathBuf,
    /// How much of each stream is kept: the first half of it and the last.
    pub bytes_max: usize,
    /// What must not show in the output. Values below four bytes would make a riddle of every text and
    /// are ignored.
    pub secrets: Vec<String>,
}

/// What an attempt reads.
#[derive(Clone)]
pub enum Stdin {
    Nothing,
    Text(String),
    File(PathBuf),
}

/// How an attempt ended, with all of its processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub why: Why,
    /// How its main process left; none if it was never there or would not go.
    pub exit: Option<Exit>,
    pub duration_ms: u64,
    pub stdout: Captured,
    pub stderr: Captured,
    /// Processes that could not be ended, such as those of another user. Nearly always none.
    pub survivors: Vec<i32>,
}

/// What made it end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// By itself.
    Exited,
    WallTimeout,
    IdleTimeout,
    /// It was asked to.
    Stopped,
    /// It never began.
    SpawnFailed {
        reason: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// What became of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// How much there was.
    pub bytes: u64,
    /// Whether the middle was left out.
    pub truncated: bool,
    /// Why the file is not complete, such as a full disk.
    pub failed: Option<String>,
}
