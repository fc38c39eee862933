//! Puts a backup in the place of the store.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::FlockOperation;
use tempfile::TempPath;

use super::backup::{copy, copy_to_file, part_beside, publish};
use super::{Place, attach, beside, schema};
use crate::store::examine;
use crate::{StoreError, sql};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The store.
    pub path: PathBuf,
    /// Where what was there before is kept; none if nothing was.
    pub kept: Option<PathBuf>,
    pub checkpoints: u64,
}

/// A process that just ends has this long to let go.
const LET_GO_MAX: Duration = Duration::from_secs(1);

/// Makes the store at `path` what `backup` holds. The backup is looked at first, and what was there
/// before is kept beside it. Refused while another process has the store open.
pub fn restore(backup: &Path, path: &Path, at: Timestamp) -> Result<Restored, StoreError> {
    let source = open_backup(backup)?;
    // Only now: what is refused makes no directory (R14).
    let place = Place::of(path)?;
    if backup.canonicalize().is_ok_and(|backup| backup == place.path) {
        let reason = "it is the store itself".to_owned();
        return Err(StoreError::BadBackup { path: backup.to_owned(), reason });
    }
    let (staged, checkpoints) = stage(backup, &source, &place)?;
    drop(source);
    if !place.path.exists() {
        publish(staged, &place.path)?;
        return Ok(Restored { path: place.path, kept: None, checkpoints });
    }
    let kept = free_name(&place.path, at);
    match replace_content(&place, &staged, &kept) {
        // What cannot be read as a store any more can still be put aside.
        Err(StoreError::Damaged { .. }) => put_aside(&place, staged, &kept)?,
        other => other?,
    }
    Ok(Restored { path: place.path, kept: Some(kept), checkpoints })
}

fn open_backup(backup: &Path) -> Result<rusqlite::Connection, StoreError> {
    let refuse = |reason: String| StoreError::BadBackup { path: backup.to_owned(), reason };
    let metadata = std::fs::metadata(backup).map_err(|error| refuse(error.to_string()))?;
    if !metadata.is_file() {
        return Err(refuse("it is not a file".to_owned()));
    }
    let unusable = |error| unusable(error, backup);
    let source = open_unchanged(backup).map_err(unusable)?;
    schema::guard(&source, backup).map_err(unusable)?;
    if !schema::is_made(&source).map_err(unusable)? {
        return Err(refuse("it is not a Checkrein store".to_owned()));
    }
    Ok(source)
}

/// What is wrong with the backup must not sound as if it were wrong with the store.
fn unusable(error: StoreError, backup: &Path) -> StoreError {
    let refuse = |reason: String| StoreError::BadBackup { path: backup.to_owned(), reason };
    match error {
        StoreError::Damaged { reason } => refuse(reason),
        StoreError::NotAStore { .. } => refuse("it is not a Checkrein store".to_owned()),
        other => other,
    }
}

/// The backup as a file beside the store, sound and of this version; and how many checkpoints it has.
fn stage(backup: &Path, source: &rusqlite::Connection, place: &Place) -> Result<(TempPath, u64), StoreError> {
    let unusable = |error| unusable(error, backup);
    let part = part_beside(&place.path)?;
    let mut copied = copy_to_file(source, &part).map_err(unusable)?;
    schema::migrate(&mut copied, &place.path).map_err(unusable)?;
    let checked = examine(&sql::Connection::Sqlite(Box::new(copied)));
    if let Some(reason) = checked.problems.into_iter().next() {
        return Err(StoreError::BadBackup { path: backup.to_owned(), reason });
    }
    Ok((part, checked.checkpoints))
}

/// Opens a database for reading without leaving a trace beside it.
fn open_unchanged(path: &Path) -> Result<Connection, StoreError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte))
            }
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    // With a log beside it, what counts is in there too.
    if !beside(path, "-wal").exists() {
        uri.push_str("?immutable=1");
    }
    Connection::open_with_flags(uri, flags).map_err(|error| super::opening(error, path))
}

/// Copies the backup into the store in one transaction. The file stays the same one, so a process
/// that opens it meanwhile waits, and then sees the restored store.
fn replace_content(place: &Place, staged: &Path, kept: &Path) -> Result<(), StoreError> {
    let path = &place.path;
    let mut present = attach(path)?;
    present.busy_timeout(LET_GO_MAX)?;
    match schema::guard(&present, path) {
        Err(StoreError::NotAStore { .. }) if !is_database(path) => {
            return Err(StoreError::Damaged { reason: "file is not a database".to_owned() });
        }
        Err(StoreError::TooNew { .. }) => {}
        other => other?,
    }
    // Leaving the log takes the file for oneself: it fails while anybody else has it open. The lock is
    // kept to the end, or somebody could commit between the copy and the overwriting.
    present.execute_batch("PRAGMA locking_mode = EXCLUSIVE")?;
    let mode = present.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0));
    match mode.map_err(StoreError::from) {
        Ok(mode) if mode == "delete" => {}
        Ok(_) | Err(StoreError::Busy) => return Err(StoreError::InUse { path: path.clone() }),
        Err(error) => return Err(error),
    }
    let part = part_beside(kept)?;
    drop(copy_to_file(&present, &part)?);
    publish(part, kept)?;
    present.execute_batch("PRAGMA synchronous = EXTRA")?;
    copy(&open_unchanged(staged)?, &mut present)
}

/// Renames a file that no longer is a store, and its companions, and puts the backup in its place.
fn put_aside(place: &Place, staged: TempPath, kept: &Path) -> Result<(), StoreError> {
    let path = &place.path;
    let fail = |error: std::io::Error| StoreError::unwritable(path, &error);
    // Every process that has it open holds a lock somewhere in it.
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).map_err(fail)?;
    if rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Err(StoreError::InUse { path: path.clone() });
    }
    std::fs::File::open(&staged).and_then(|staged| staged.sync_all()).map_err(fail)?;
    // A second name first: at no moment is there no file by the store's name.
    if std::fs::hard_link(path, kept).is_err() {
        std::fs::rename(path, kept).map_err(fail)?;
    }
    for ending in ["-wal", "-shm", "-journal"] {
        let companion = beside(path, ending);
        if companion.exists() {
            std::fs::rename(&companion, beside(kept, ending)).map_err(fail)?;
        }
    }
    place.sync().map_err(fail)?;
    staged.persist(path).map_err(|error| fail(error.error))?;
    place.sync().map_err(fail)
}

/// `store.db.before-restore-20260102T030405Z`, and with a number where that is taken.
fn free_name(path: &Path, at: Timestamp) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".before-restore-{}", at.strftime("%Y%m%dT%H%M%SZ")));
    let first = PathBuf::from(name);
    if !first.exists() {
        return first;
    }
    let numbered = (2..).map(|number: u32| beside(&first, &format!("-{number}")));
    numbered.into_iter().find(|candidate| !candidate.exists()).unwrap_or(first)
}

fn is_database(path: &Path) -> bool {
    use std::io::Read;
    let mut header = [0; 16];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && &header == b"SQLite format 3\0"
}
