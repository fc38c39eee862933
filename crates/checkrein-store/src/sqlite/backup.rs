//! A copy of the store in one file, taken while it is in use.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use tempfile::TempPath;

use super::{BUSY_MAX, attach};
use crate::{StoreError, sql, store};

const PAUSE: Duration = Duration::from_millis(10);

/// Copies a database as it is at this moment to a new file, which is there whole and sound or not at all.
pub(crate) fn back_up(connection: &Connection, to: &Path) -> Result<u64, StoreError> {
    if to.exists() {
        return Err(StoreError::Exists { path: to.to_owned() });
    }
    let part = part_beside(to)?;
    let copied = sql::Connection::Sqlite(Box::new(copy_to_file(connection, &part)?));
    let problem = store::examine_file(&copied)?;
    drop(copied);
    if let Some(problem) = problem {
        return Err(StoreError::Damaged { reason: problem });
    }
    publish(part, to)?;
    Ok(std::fs::metadata(to).map_or(0, |metadata| metadata.len()))
}

/// A file of its own in the directory of `path`, for what is not yet whole. Only its owner may read it.
pub(super) fn part_beside(path: &Path) -> Result<TempPath, StoreError> {
    let part = tempfile::Builder::new().prefix(".checkrein-").tempfile_in(directory_of(path));
    part.map(tempfile::NamedTempFile::into_temp_path).map_err(|error| StoreError::unwritable(path, &error))
}

/// Copies a database into an empty file, as one file without companions; open, for another look.
pub(super) fn copy_to_file(from: &Connection, to: &Path) -> Result<Connection, StoreError> {
    let mut copied = attach(to)?;
    copy(from, &mut copied)?;
    copied.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    Ok(copied)
}

/// Copies every page in one transaction of `to`.
pub(super) fn copy(from: &Connection, to: &mut Connection) -> Result<(), StoreError> {
    let backup = Backup::new(from, to)?;
    let mut waited = Duration::ZERO;
    loop {
        match backup.step(-1)? {
            StepResult::Done => return Ok(()),
            StepResult::Busy | StepResult::Locked if waited >= BUSY_MAX => return Err(StoreError::Busy),
            StepResult::Busy | StepResult::Locked => {
                std::thread::sleep(PAUSE);
                waited += PAUSE;
            }
            _ => {}
        }
    }
}

/// Makes a finished file durable and gives it its name; what has the name already stays.
pub(super) fn publish(part: TempPath, to: &Path) -> Result<(), StoreError> {
    let fail = |error: std::io::Error| StoreError::unwritable(to, &error);
    std::fs::File::open(&part).and_then(|file| file.sync_all()).map_err(fail)?;
    part.persist_noclobber(to).map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => StoreError::Exists { path: to.to_owned() },
        _ => fail(error.error),
    })?;
    std::fs::File::open(directory_of(to)).and_then(|directory| directory.sync_all()).map_err(fail)
}

pub(super) fn directory_of(path: &Path) -> PathBuf {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}
