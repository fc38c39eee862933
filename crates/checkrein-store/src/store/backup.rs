//! A copy of the store in one file, taken while it is in use.

use std::path::Path;

use super::Store;
use crate::sql::Connection;
use crate::{StoreError, sqlite};

impl Store {
    /// Copies the store as it is at this moment to a new file, which is there whole and sound or not
    /// at all. Nobody has to wait for it.
    pub async fn backup(&self, to: &Path) -> Result<u64, StoreError> {
        let address = self.address();
        self.read_once(|connection| match connection {
            Connection::Sqlite(connection) => sqlite::backup::back_up(connection, to),
            Connection::Postgres(_) => {
                Err(StoreError::OtherBackend { wanted: "a store in a file", found: address.to_string() })
            }
        })
    }
}
