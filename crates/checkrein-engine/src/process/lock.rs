//! The lock of a run: held by its supervisor for as long as anything of an attempt is alive.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::ProcessError;
use crate::agent_dir::WITHOUT_WAITING;

const PAUSE_MAX: Duration = Duration::from_millis(20);

/// Nobody else has it until this is dropped. The file stays: removing it would let two hold the lock of
/// the same name.
#[derive(Debug)]
pub struct Lock {
    // Closed on exec, so that no attempt keeps it.
    _file: File,
}

/// Waits until the supervisor before has let go, for whoever comes next. Clean up while you have it, and
/// drop it for the next supervisor.
pub fn wait_for_lock(path: &Path, patience: Duration) -> Result<Lock, ProcessError> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match try_lock(path) {
            Err(ProcessError::Locked { .. }) if began.elapsed() < patience => {}
            settled => return settled,
        }
        thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

pub(super) fn try_lock(path: &Path) -> Result<Lock, ProcessError> {
    let no_lock = |source| ProcessError::NoLock { path: path.to_owned(), source };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(WITHOUT_WAITING);
    let file = options.open(path);
    let file = file.map_err(no_lock)?;
    match file.try_lock() {
        Ok(()) => Ok(Lock { _file: file }),
        Err(TryLockError::WouldBlock) => Err(ProcessError::Locked { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(no_lock(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_one_waits_for_the_one_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let first = wait_for_lock(&path, Duration::ZERO).unwrap();
        let refused = wait_for_lock(&path, Duration::from_millis(30)).unwrap_err();
        assert!(matches!(refused, ProcessError::Locked { .. }), "{refused}");
        let waiter = thread::spawn({
            let path = path.clone();
            move || wait_for_lock(&path, Duration::from_secs(60)).map(|_| Instant::now())
        });
        thread::sleep(Duration::from_millis(30));
        let released = Instant::now();
        drop(first);
        assert!(waiter.join().unwrap().unwrap() >= released);
    }

    #[test]
    fn a_lock_without_a_place_says_so() {
        let error = wait_for_lock(Path::new("/nowhere/at/all"), Duration::ZERO).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`/nowhere/at/all` cannot be locked: No such file or directory (os error 2)"
        );
    }
}
