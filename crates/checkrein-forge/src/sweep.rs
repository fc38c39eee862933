//! What a machine that lost its power leaves behind: locks that nobody holds, and half of something.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::error::ForgeError;
use crate::repository::{Bare, Source};

/// How often somebody looks whether a lock is gone.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const LOCKS: [&str; 4] = ["HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock"];

impl Bare {
    /// Waits for calls of git that outlived whoever made them, and removes the locks of those that were
    /// killed: here, and on the branches that show in the repository the job started from. One that is
    /// older than `stale` belongs to nobody, since a reference is changed in a moment.
    pub fn unlock(&self, source: Option<&Source>, stale: Duration) -> Result<(), ForgeError> {
        let failed = |error| ForgeError::file(self.path(), error);
        let mut places = vec![self.path().join("refs")];
        if let (Some(source), Some((job, _))) = (source, self.names().main().reference().rsplit_once('/')) {
            places.push(source.directory.join(job));
        }
        let patience = Instant::now() + stale + LOOK_EVERY;
        loop {
            let mut locks: Vec<PathBuf> = LOCKS.iter().map(|name| self.path().join(name)).collect();
            locks.retain(|lock| lock.symlink_metadata().is_ok());
            for place in &places {
                find_locks(place, &mut locks).map_err(failed)?;
            }
            if locks.is_empty() || Instant::now() > patience {
                return Ok(());
            }
            let before = SystemTime::now().checked_sub(stale).unwrap_or(SystemTime::UNIX_EPOCH);
            for lock in &locks {
                remove_old(lock, before).map_err(failed)?;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Removes locks and scratch that nobody has touched for a while, and returns how many there were. A call
    /// of git takes at most its timeout, so what is a good deal older belongs to nobody.
    pub fn sweep(&self, older_than: Duration) -> Result<usize, ForgeError> {
        let failed = |error| ForgeError::file(self.path(), error);
        let before = SystemTime::now().checked_sub(older_than).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut swept = 0;
        let mut locks: Vec<PathBuf> = LOCKS.iter().map(|name| self.path().join(name)).collect();
        find_locks(&self.path().join("refs"), &mut locks).map_err(failed)?;
        for lock in locks {
            swept += usize::from(remove_old(&lock, before).map_err(failed)?);
        }
        for place in ["scratch", "objects/pack"] {
            for path in entries(&self.path().join(place)).map_err(failed)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if place == "scratch" || name.starts_with("tmp_") {
                    swept += usize::from(remove_old(&path, before).map_err(failed)?);
                }
            }
        }
        Ok(swept)
    }
}

fn find_locks(directory: &Path, locks: &mut Vec<PathBuf>) -> io::Result<()> {
    for path in entries(directory)? {
        if path.symlink_metadata().is_ok_and(|data| data.is_dir()) {
            find_locks(&path, locks)?;
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            locks.push(path);
        }
    }
    Ok(())
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn remove_old(path: &Path, before: SystemTime) -> io::Result<bool> {
    let data = match path.symlink_metadata() {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if data.modified()? >= before {
        return Ok(false);
    }
    let removed = if data.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(true),
    }
}
