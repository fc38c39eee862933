//! Gives back the room that removed rows took.

use super::{Backend, Store};
use crate::StoreError;
use crate::sql::{Connection, Kind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vacuumed {
    pub bytes_before: u64,
    pub bytes_after: u64,
}

impl Store {
    /// Writes the file anew without gaps. Takes as much free room again while it works; a crash in
    /// the middle leaves the file as it was.
    pub async fn vacuum(&self) -> Result<Vacuumed, StoreError> {
        let bytes = || self.bytes().map(|(file, log)| file + log);
        let bytes_before = bytes()?;
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.vacuum()?,
            // It locks nobody out; the room is used again, and given back where it can be.
            Backend::Postgres(_) => self.read_once(|connection| -> Result<(), StoreError> {
                Ok(connection.execute_batch("VACUUM")?)
            })?,
        }
        Ok(Vacuumed { bytes_before, bytes_after: bytes()? })
    }

    /// Makes one durable change that changes nothing, to see whether one can be made.
    pub async fn try_write(&self) -> Result<(), StoreError> {
        let work = |connection: &Connection| -> Result<(), StoreError> {
            match connection.kind() {
                Kind::Sqlite => {
                    let sql = "PRAGMA user_version";
                    let version: i64 = connection.query_row(sql, [], |row| row.get(0))?;
                    Ok(connection.execute_batch(&format!("PRAGMA user_version = {version}"))?)
                }
                Kind::Postgres => {
                    Ok(connection.execute_batch("UPDATE checkrein_schema SET version = version")?)
                }
            }
        };
        self.writer()?.run(work).await
    }
}
