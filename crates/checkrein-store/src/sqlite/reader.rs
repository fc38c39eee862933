//! A connection that reads, and what it need not read again.

use std::collections::HashMap;

use checkrein_core::deliverable::Digest;

use crate::sql::Connection;
use crate::{StoreError, TokenRow, principal};

#[derive(Debug)]
pub(super) struct Reader {
    pub connection: Connection,
    /// As of the last time anybody else committed.
    tokens: HashMap<Digest, TokenRow>,
    version: Option<i64>,
}

/// So many tokens are remembered.
const TOKENS_MAX: usize = 256;

impl Reader {
    pub fn new(connection: Connection) -> Reader {
        Reader { connection, tokens: HashMap::new(), version: None }
    }

    /// INVARIANT: the version is read first. Whoever commits after that changes it, so a token that was
    /// revoked by anybody, in this process or another, is looked up again by the next request.
    pub fn token(&mut self, secret: &Digest) -> Result<Option<TokenRow>, StoreError> {
        let now: i64 = self
            .connection
            .prepare_cached("PRAGMA data_version")?
            .query_row(crate::sql::params![], |row| row.get(0))?;
        if self.version != Some(now) || self.tokens.len() >= TOKENS_MAX {
            self.tokens.clear();
            self.version = Some(now);
        }
        if let Some(known) = self.tokens.get(secret) {
            return Ok(Some(known.clone()));
        }
        let found = principal::by_secret(&self.connection, secret)?;
        if let Some(found) = &found {
            self.tokens.insert(*secret, found.clone());
        }
        Ok(found)
    }
}
