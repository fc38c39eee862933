//! Where a run keeps its files: beside the store, or where that cannot be written, in the temporary
//! directory. Trouble with them never fails a run (W11).

use std::fs::{File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use checkrein_core::run::RunId;
use checkrein_store::Store;

use crate::EngineError;
use crate::agent_dir::WITHOUT_WAITING;

pub(crate) struct Place {
    pub directory: PathBuf,
    pub log: PathBuf,
    /// What is not beside the store, and why.
    pub fallbacks: Vec<String>,
}

/// The captured output of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFiles {
    pub stdout: PathBuf,
    pub stderr: PathBuf,
}

impl Place {
    pub fn of(store: &Store, id: &RunId) -> Place {
        let beside = store.directory();
        let mut fallbacks = Vec::new();
        // Each by itself: whoever drives a run must find its lock where others do.
        let mut usable = |within: &dyn Fn(&Path) -> PathBuf, what: &str| {
            let here = within(beside);
            let Err(error) = make(&here) else { return here };
            let elsewhere = within(&fallback_root());
            // Where this fails too, whoever writes there says so.
            let _ = make(&elsewhere);
            fallbacks.push(format!(
                "`{}`: {error}; {what} goes to `{}`",
                here.display(),
                elsewhere.display()
            ));
            elsewhere
        };
        let directory = usable(&|root| root.join("runs").join(id.as_str()), "output");
        let logs = usable(&|root| root.join("logs"), "the log");
        Place { directory, log: logs.join(format!("{id}.jsonl")), fallbacks }
    }

    /// Where it is, for whoever only looks: nothing is made.
    pub fn at(store: &Store, id: &RunId) -> Place {
        let beside = store.directory();
        let there = |root: &Path| root.join("runs").join(id.as_str()).is_dir();
        let root = if there(beside) { beside.to_owned() } else { fallback_root() };
        let root = if there(&root) { root } else { beside.to_owned() };
        let log = beside.join("logs").join(format!("{id}.jsonl"));
        Place { directory: root.join("runs").join(id.as_str()), log, fallbacks: Vec::new() }
    }

    /// A step may have removed it.
    pub fn make_again(&self) {
        // Where this fails, whoever writes there says so.
        let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
    }

    /// Nobody else drives the run until this is dropped.
    pub fn lock(&self) -> Result<Option<File>, EngineError> {
        let path = self.directory.join("lock");
        let fail =
            |error: std::io::Error| EngineError::RunFiles { path: path.clone(), reason: error.to_string() };
        let file = open_lock(&path, Missing::Make).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(fail(error)),
        }
    }

    /// The same, with patience for whoever has it.
    pub async fn wait_for_lock(&self, patience: Duration) -> Result<Option<File>, EngineError> {
        let begun = Instant::now();
        loop {
            match self.lock()? {
                None if begun.elapsed() < patience => tokio::time::sleep(Duration::from_millis(5)).await,
                settled => return Ok(settled),
            }
        }
    }

    /// Whether nobody drives it; a run that has no directory is driven by nobody.
    pub fn is_free(&self) -> bool {
        let lock = open_lock(&self.directory.join("lock"), Missing::Fail);
        lock.map_or(true, |file| file.try_lock().is_ok())
    }

    /// Held by the run's supervisor while anything of an attempt is alive.
    pub fn supervisor_lock(&self) -> PathBuf {
        self.directory.join("supervisor.lock")
    }

    /// `0003-build-implement.stdout` for a base of `0003-build-implement`.
    pub fn file(&self, base: &str, ending: &str) -> PathBuf {
        self.directory.join(format!("{base}.{ending}"))
    }

    pub fn output(&self, base: &str) -> OutputFiles {
        OutputFiles { stdout: self.file(base, "stdout"), stderr: self.file(base, "stderr") }
    }
}

enum Missing {
    Make,
    Fail,
}

fn open_lock(path: &Path, missing: Missing) -> std::io::Result<File> {
    let make = matches!(missing, Missing::Make);
    File::options().create(make).truncate(false).write(true).custom_flags(WITHOUT_WAITING).open(path)
}

/// Makes a directory that can be written to.
fn make(directory: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    tempfile::tempfile_in(directory).map(|_| ())
}

/// A directory that only this user may look into; anybody may have made one of that name.
fn fallback_root() -> PathBuf {
    let uid = rustix::process::getuid().as_raw();
    let root = std::env::temp_dir().join(format!("checkrein-{uid}"));
    let _ = std::fs::DirBuilder::new().mode(0o700).create(&root);
    let ours = std::fs::symlink_metadata(&root)
        .is_ok_and(|found| found.is_dir() && found.uid() == uid && found.mode() & 0o077 == 0);
    if ours { root } else { std::env::temp_dir().join(format!("checkrein-{uid}-{}", std::process::id())) }
}
