use checkrein_core::checkpoint::CheckpointStatus;

use crate::EngineError;

/// Why a worker cannot go on, or a call did nothing.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error(transparent)]
    Rejected(#[from] CheckpointRejectedError),
    /// Not an answer: the worker has to wait longer, or leave it for now.
    #[error("checkpoint `{id}` still waits for a verdict")]
    StillPending { id: String },
    #[error("the policy of worker `{worker}` says more than an autonomy level can")]
    MoreThanALevel { worker: String },
    #[error("there is no place for a temporary store: {0}")]
    NoTemporaryStore(#[source] std::io::Error),
    /// An unknown id, a verdict that is already another one, a store that cannot write …
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What a waiting worker gets instead of an approval, with the reason (C9).
///
/// ```
/// use checkrein_engine::worker::{CheckpointError, CheckpointStore};
///
/// fn work(store: &CheckpointStore) -> Result<(), CheckpointError> {
///     // … worker execution with checkpoints …
///     store.wait("draft-7", None)?;
///     Ok(())
/// }
///
/// let store = CheckpointStore::new()?;
/// store.submit("draft-7", "draft", "analyst", "report")?;
/// store.reject("draft-7", "needs more competitor analysis")?;
/// match work(&store) {
///     Err(CheckpointError::Rejected(e)) => {
///         assert_eq!(e.reason, "needs more competitor analysis");
///         assert_eq!(e.to_string(), "checkpoint `draft-7` is rejected: needs more competitor analysis");
///     }
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), CheckpointError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("checkpoint `{id}` is {status}{}{reason}", if reason.is_empty() { "" } else { ": " })]
pub struct CheckpointRejectedError {
    pub id: String,
    /// Rejected, or changes were requested, or it was withdrawn.
    pub status: CheckpointStatus,
    pub reason: String,
}
