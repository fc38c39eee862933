//! Sessions of frames and suggestions, as the store is asked for them.

use checkrein_core::frame::{Suggestion, SuggestionFilter};
use jiff::Timestamp;

use super::Store;
use crate::{CommitError, FrameCommit, Page, SessionFilter, SessionItem, StoreError, StoredSession, frame};

impl Store {
    pub async fn frame_session(&self, id: &str) -> Result<Option<StoredSession>, StoreError> {
        self.read(|connection| connection.at_one_moment(|connection| frame::get(connection, id)))
    }

    /// Makes a change of a session durable, if it is still at the version it was decided on.
    pub async fn commit_frames(&self, commit: FrameCommit) -> Result<(), CommitError> {
        self.writer()?.run(move |connection| frame::commit(connection, &commit)).await
    }

    /// The newest first, before the session numbered `before`.
    pub async fn frame_sessions(
        &self,
        filter: &SessionFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<SessionItem>, StoreError> {
        self.read(|connection| frame::list(connection, filter, before, limit))
    }

    /// The session that was changed last.
    pub async fn latest_frame_session(&self, filter: &SessionFilter) -> Result<Option<String>, StoreError> {
        self.read(|connection| frame::latest(connection, filter))
    }

    /// The newest first, before the one numbered `before`.
    pub async fn suggestions(
        &self,
        filter: &SuggestionFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<Suggestion>, StoreError> {
        self.read(|connection| frame::suggestions(connection, filter, before, limit))
    }

    pub async fn suggestion(&self, id: &str) -> Result<Option<Suggestion>, StoreError> {
        self.read(|connection| frame::suggestion_by_id(connection, id))
    }

    /// Sessions nobody touched since.
    pub async fn old_frame_sessions(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        self.read(|connection| frame::old(connection, before))
    }

    /// Forgets a session that nobody touched since.
    pub async fn remove_frame_session(&self, id: String, before: Timestamp) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| frame::remove(connection, &id, before)).await
    }
}
