//! A store that may be read and not written: on a read-only medium, or somebody else's.

use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{BUSY_MAX, beside, opening, schema};
use crate::StoreError;

/// How it can be read without leaving anything beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// With its log and the index of that, while others may write.
    WithLog,
    /// The file alone, since there is no log. SQLite believes that it does not change, so what was
    /// read counts only if it did not.
    Still(Look),
}

/// What shows that a file was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    log_bytes: u64,
}

impl Reading {
    /// Refuses what is not a store of the very version this program knows: it cannot be brought there.
    pub fn of(path: &Path) -> Result<Reading, StoreError> {
        let there = |ending| beside(path, ending).exists();
        let still = Look::at(path)?;
        // INVARIANT: with its companions there, SQLite makes none that others could not write to.
        let with_log = there("-wal") && there("-shm");
        let ways = [(with_log, Reading::WithLog), (still.log_bytes == 0, Reading::Still(still))];
        for (_, reading) in ways.into_iter().filter(|(possible, _)| *possible) {
            let connection = reading.connect(path)?;
            match schema::guard(&connection, path) {
                Ok(()) if schema::is_current(&connection)? => return Ok(reading),
                Ok(()) => {
                    let reason = "it is of an older version; open it once where it can be written".to_owned();
                    return Err(StoreError::Open { path: path.to_owned(), reason });
                }
                Err(error @ (StoreError::NotAStore { .. } | StoreError::TooNew { .. })) => return Err(error),
                Err(_) => {}
            }
        }
        Err(StoreError::ReadOnly)
    }

    pub fn connect(self, path: &Path) -> Result<Connection, StoreError> {
        let how = match self {
            Reading::WithLog => "mode=ro",
            Reading::Still(_) => "mode=ro&immutable=1",
        };
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let connection =
            Connection::open_with_flags(uri(path, how), flags).map_err(|error| opening(error, path))?;
        connection.busy_timeout(BUSY_MAX)?;
        connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;")?;
        Ok(connection)
    }

    /// Whether what was read is what is there.
    pub fn verify(self, path: &Path) -> Result<(), StoreError> {
        match self {
            Reading::Still(then) if Look::at(path)? != then => {
                Err(StoreError::InUse { path: path.to_owned() })
            }
            _ => Ok(()),
        }
    }
}

impl Look {
    fn at(path: &Path) -> Result<Look, StoreError> {
        let file = std::fs::metadata(path)
            .map_err(|error| StoreError::Open { path: path.to_owned(), reason: error.to_string() })?;
        Ok(Look {
            inode: file.ino(),
            bytes: file.len(),
            modified: (file.mtime(), file.mtime_nsec()),
            log_bytes: std::fs::metadata(beside(path, "-wal")).as_ref().map_or(0, Metadata::len),
        })
    }
}

/// A path as SQLite takes it with parameters: what could be taken for one of them is escaped.
fn uri(path: &Path, parameters: &str) -> OsString {
    let mut uri = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'?' | b'#' | b'%' => uri.extend(format!("%{byte:02X}").bytes()),
            _ => uri.push(*byte),
        }
    }
    uri.extend(b"?");
    uri.extend(parameters.bytes());
    OsString::from_vec(uri)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    #[tokio::test]
    async fn a_file_alone_is_read_as_long_as_nobody_writes_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("50% off? #1.db");
        drop(Store::open(&path).unwrap());
        let before: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();

        let reading = Reading::of(&path).unwrap();
        assert!(matches!(reading, Reading::Still(_)));
        let count = |sql: &str| {
            let connection = reading.connect(&path).unwrap();
            connection.query_row(sql, [], |row| row.get::<_, i64>(0))
        };
        assert_eq!(count("SELECT count(*) FROM checkpoints").unwrap(), 0);
        assert!(count("INSERT INTO contents VALUES (x'00', 0, x'00') RETURNING 1").is_err());
        reading.verify(&path).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), before.len(), "it left something");

        let store = Store::open(&path).unwrap();
        store.try_write().await.unwrap();
        assert!(matches!(reading.verify(&path), Err(StoreError::InUse { .. })));
        assert_eq!(Reading::of(&path).unwrap(), Reading::WithLog);
    }

    #[tokio::test]
    async fn a_log_without_its_index_and_an_older_version_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let store = Store::open(&path).unwrap();
        store.try_write().await.unwrap();
        let copy = directory.path().join("copy.db");
        for ending in ["", "-wal"] {
            std::fs::copy(beside(&path, ending), beside(&copy, ending)).unwrap();
        }
        assert!(matches!(Reading::of(&copy), Err(StoreError::ReadOnly)));
        drop(store);
        Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 1").unwrap();
        let refused = Reading::of(&path).unwrap_err().to_string();
        assert!(refused.contains("open it once where it can be written"), "{refused}");
    }
}
