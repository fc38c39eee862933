//! Sessions, as the store is asked for them.

use checkrein_core::deliverable::Digest;
use jiff::Timestamp;

use super::Store;
use crate::{Page, SessionRow, SignedIn, StoreError, session};

impl Store {
    /// Adds a session. What was over before `old_before` is forgotten.
    pub async fn add_session(
        &self,
        row: SessionRow,
        secret: Digest,
        old_before: Timestamp,
    ) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| session::put(connection, &row, &secret, old_before)).await
    }

    pub async fn session(&self, secret: &Digest) -> Result<Option<SignedIn>, StoreError> {
        self.read(|connection| session::by_secret(connection, secret))
    }

    /// A session by its public name.
    pub async fn session_named(&self, id: &str) -> Result<Option<SignedIn>, StoreError> {
        self.read(|connection| session::by_id(connection, id))
    }

    /// Those that are not over at a time, oldest first, after the one numbered `after`; of one name or
    /// of all.
    pub async fn sessions(
        &self,
        of: Option<&str>,
        at: Timestamp,
        after: i64,
        limit: usize,
    ) -> Result<Page<SignedIn>, StoreError> {
        self.read(|connection| session::list(connection, of, at, after, limit))
    }

    /// Whether there was one.
    pub async fn end_session(&self, id: String, at: Timestamp) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| session::end(connection, &id, at)).await
    }
}
