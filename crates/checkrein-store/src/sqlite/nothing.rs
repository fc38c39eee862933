//! A store that is not there, as whoever only looks sees it: with all its tables, and nothing in them. It is in
//! memory and leaves nothing behind (R14).

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, OpenFlags};

use super::{opening, schema};
use crate::StoreError;

#[derive(Debug)]
pub(super) struct Nothing {
    name: String,
    /// SQLite drops what is in memory with the last connection to it.
    _kept: Mutex<Connection>,
}

static COUNT: AtomicU64 = AtomicU64::new(0);

impl Nothing {
    pub fn new(path: &Path) -> Result<Nothing, StoreError> {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("file:checkrein-nothing-{number}?mode=memory&cache=shared");
        let mut connection = open(&name, path)?;
        schema::migrate(&mut connection, path)?;
        Ok(Nothing { name, _kept: Mutex::new(connection) })
    }

    pub fn connect(&self, path: &Path) -> Result<Connection, StoreError> {
        open(&self.name, path)
    }
}

fn open(name: &str, path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(name, flags).map_err(|error| opening(error, path))?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;")?;
    Ok(connection)
}
