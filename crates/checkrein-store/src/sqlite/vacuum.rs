//! Gives back the room that removed rows took.

use super::stats::beside;
use super::{Store, connect};
use crate::StoreError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vacuumed {
    pub bytes_before: u64,
    pub bytes_after: u64,
}

impl Store {
    /// Writes the file anew without gaps. Takes as much free room again while it works; a crash in
    /// the middle leaves the file as it was.
    pub async fn vacuum(&self) -> Result<Vacuumed, StoreError> {
        let bytes = || {
            let size = |path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
            size(self.path().to_owned()) + size(beside(self.path(), "-wal"))
        };
        let bytes_before = bytes();
        // Not on the writing thread: this cannot be part of a transaction.
        let connection = connect(self.path())?;
        connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")?;
        Ok(Vacuumed { bytes_before, bytes_after: bytes() })
    }

    /// Makes one durable change that changes nothing, to see whether one can be made.
    pub async fn try_write(&self) -> Result<(), StoreError> {
        let work = |connection: &rusqlite::Connection| -> Result<(), StoreError> {
            let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            Ok(connection.execute_batch(&format!("PRAGMA user_version = {version}"))?)
        };
        self.writer()?.run(work).await
    }
}
