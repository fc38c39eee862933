use jiff::Timestamp;

pub use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::deliverable::Content;
pub use checkrein_core::deliverable::Deliverable;

use crate::CheckpointView;

/// A point where a person may have to look, as a [`CheckpointStore`](super::CheckpointStore) keeps it.
///
/// ```
/// use checkrein_engine::worker::{Checkpoint, CheckpointStatus, CheckpointStore};
///
/// let store = CheckpointStore::new()?;
/// let Checkpoint {
///     id,               // its unique id
///     worker_name,      // who asks
///     phase,            // where in the work
///     deliverable,      // what to look at
///     status,           // pending, approved, rejected …
///     rejection_reason, // why, if it was rejected
///     created_at,       // when it was asked
///     resolved_at,      // when it was answered, if it was
/// } = store.create("draft", "analyst", "report")?;
/// assert_eq!((worker_name.as_str(), phase.as_str()), ("analyst", "report"));
/// assert_eq!(deliverable, Some("draft".into()));
/// assert_eq!(status, CheckpointStatus::Pending);
/// assert_eq!((rejection_reason.as_str(), resolved_at), ("", None));
/// # let _ = (id, created_at);
/// # Ok::<(), checkrein_engine::worker::CheckpointError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    pub id: String,
    pub worker_name: String,
    pub phase: String,
    /// None once retention has removed it.
    pub deliverable: Option<Deliverable>,
    /// ```
    /// use checkrein_engine::worker::CheckpointStatus;
    ///
    /// assert_eq!(CheckpointStatus::Pending.name(), "pending"); // waits for a person
    /// assert_eq!(CheckpointStatus::Approved.name(), "approved");
    /// assert_eq!(CheckpointStatus::Rejected.name(), "rejected");
    /// ```
    pub status: CheckpointStatus,
    /// Empty unless it was rejected.
    pub rejection_reason: String,
    pub created_at: Timestamp,
    pub resolved_at: Option<Timestamp>,
}

impl From<CheckpointView> for Checkpoint {
    fn from(view: CheckpointView) -> Checkpoint {
        Checkpoint::of(view.checkpoint, view.content)
    }
}

impl Checkpoint {
    pub(super) fn of(
        checkpoint: checkrein_core::checkpoint::Checkpoint,
        content: Option<Content>,
    ) -> Checkpoint {
        let rejected = checkpoint.status == CheckpointStatus::Rejected;
        Checkpoint {
            id: checkpoint.id.to_string(),
            worker_name: checkpoint.worker,
            phase: checkpoint.phase,
            deliverable: content.map(|content| content.deliverable()),
            status: checkpoint.status,
            rejection_reason: checkpoint.reason.filter(|_| rejected).unwrap_or_default(),
            created_at: checkpoint.created_at,
            resolved_at: checkpoint.resolved_at,
        }
    }
}
