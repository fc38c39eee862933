//! What a machine that lost its power leaves behind: locks that nobody holds, and half of something.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::ForgeError;
use crate::repository::Bare;

impl Bare {
    /// Removes locks and scratch that nobody has touched for a while, and returns how many there were. A call
    /// of git takes at most its timeout, so what is a good deal older belongs to nobody.
    pub fn sweep(&self, older_than: Duration) -> Result<usize, ForgeError> {
        let failed = |error| ForgeError::file(self.path(), error);
        let before = SystemTime::now().checked_sub(older_than).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut swept = 0;
        for name in ["HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock"] {
            swept += usize::from(remove_old(&self.path().join(name), before).map_err(failed)?);
        }
        swept += locks_below(&self.path().join("refs"), before).map_err(failed)?;
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

fn locks_below(directory: &Path, before: SystemTime) -> io::Result<usize> {
    let mut swept = 0;
    for path in entries(directory)? {
        if path.symlink_metadata().is_ok_and(|data| data.is_dir()) {
            swept += locks_below(&path, before)?;
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            swept += usize::from(remove_old(&path, before)?);
        }
    }
    Ok(swept)
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
