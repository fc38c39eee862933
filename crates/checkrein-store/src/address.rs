//! Where a store is.

use std::fmt;
use std::path::PathBuf;

use crate::{PostgresAddress, StoreError};

/// A file, or a database of a server. Never shows a password.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreAddress {
    Sqlite(PathBuf),
    Postgres(Box<PostgresAddress>),
}

impl StoreAddress {
    /// `postgres://…`, `sqlite:FILE` or `FILE`.
    pub fn parse(text: &str) -> Result<StoreAddress, StoreError> {
        if PostgresAddress::is_one(text) {
            return Ok(StoreAddress::Postgres(Box::new(PostgresAddress::parse(text)?)));
        }
        Ok(StoreAddress::Sqlite(text.strip_prefix("sqlite:").unwrap_or(text).into()))
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreAddress::Sqlite(path) => write!(f, "{}", path.display()),
            StoreAddress::Postgres(address) => write!(f, "{address}"),
        }
    }
}
