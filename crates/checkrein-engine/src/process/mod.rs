//! Attempts as processes.
//!
//! An engine runs its attempts through a supervisor: a child of its own that outlives it for just as
//! long as it takes to end what runs. So nothing of an attempt survives its engine, however that died,
//! and whoever resumes the run knows by a lock when the last of it is gone.

mod ancestors;
mod attempt;
mod capture;
mod client;
mod descendants;
mod leftovers;
mod lock;
mod os;
mod output;
mod protocol;
mod redact;
mod running;
mod sandbox;
mod spawn;
mod stream;
mod supervisor;

use std::path::PathBuf;

pub use ancestors::is_supervised;
pub use attempt::{Attempt, Captured, Ended, Exit, Stdin, Why};
pub use client::{Pulse, Supervisor, supervise_with, this_program};
pub use leftovers::end_leftovers;
pub use lock::{Lock, wait_for_lock};
pub use output::{ends_in_a_long_object, last_line, last_object, last_words};
pub use sandbox::{
    Landlock, Limiting, Limits, MemoryLimit, NOT_FOUND, NOT_PROTECTED, NOT_STARTED, Namespaces, ProcessLimit,
    Protection, SANDBOX, SANDBOXED, Sandbox, default_masks, default_readable, sandbox, sandbox_available,
    sandboxed,
};
pub use supervisor::supervise;

/// The first argument that makes the program a supervisor; the lock file is the second.
pub const SUPERVISE: &str = "__supervise";

/// The variable that carries the key of an attempt into all of its processes.
pub const ATTEMPT: &str = "CHECKREIN_ATTEMPT";

/// Why an attempt has no known end.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("`{}` cannot be started as a supervisor: {source}", program.display())]
    NotStarted { program: PathBuf, source: std::io::Error },
    #[error("the supervisor refused: {reason}")]
    Refused { reason: String },
    #[error("`{}` is held by another supervisor", path.display())]
    Locked { path: PathBuf },
    #[error("`{}` cannot be locked: {source}", path.display())]
    NoLock { path: PathBuf, source: std::io::Error },
    /// What it left running has been ended.
    #[error("the supervisor died; {ended} processes of the attempt were ended")]
    SupervisorGone { ended: usize },
    #[error("processes of attempt `{key}` cannot be ended: {}", numbers(pids))]
    StillAlive { key: String, pids: Vec<i32> },
    #[error("there is no sandbox here: {reason}")]
    NoSandbox { reason: String },
    #[error("the processes of this machine cannot be listed: {0}")]
    NoProcesses(#[source] std::io::Error),
}

fn numbers(pids: &[i32]) -> String {
    pids.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")
}
