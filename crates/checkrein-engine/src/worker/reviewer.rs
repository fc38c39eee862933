use std::future::Future;
use std::pin::Pin;

use checkrein_core::checkpoint::Verdict;
use checkrein_core::config::Reviewer;

use super::{CheckpointError, CheckpointStore, Deliverable};
use crate::checkpoint::AUTOMATIC;

/// The answer of a reviewer on its way.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<bool, CheckpointError>> + Send + 'a>>;

/// What is asked at a checkpoint: `true`, the worker continues; `false`, it pauses. A reviewer that
/// cannot do its work says so, and the worker pauses as well.
///
/// Which reviewer a worker has is decided while it runs, so the trait works behind `dyn`. An `async fn`
/// in a trait does not, and its future could not be promised to be `Send`; a boxed future does both for
/// one allocation, next to a commit on disk. A reviewer of your own:
///
/// ```
/// use checkrein_engine::worker::{Answer, CheckpointHandler, Deliverable};
///
/// struct OnlyShortOnes;
///
/// impl CheckpointHandler for OnlyShortOnes {
///     fn on_checkpoint<'a>(
///         &'a self,
///         _worker_name: &'a str,
///         _phase: &'a str,
///         deliverable: Deliverable,
///     ) -> Answer<'a> {
///         Box::pin(async move {
///             Ok(matches!(deliverable, Deliverable::Text(text) if text.len() < 100))
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reviewer: Box<dyn CheckpointHandler> = Box::new(OnlyShortOnes);
/// assert!(reviewer.on_checkpoint("analyst", "report", "draft content".into()).await?);
/// # Ok(())
/// # }
/// ```
pub trait CheckpointHandler: Send + Sync {
    fn on_checkpoint<'a>(
        &'a self,
        worker_name: &'a str,
        phase: &'a str,
        deliverable: Deliverable,
    ) -> Answer<'a>;
}

/// Approves everything, and records what it approved and that nobody looked (C11). For autonomous
/// workers and for tests.
///
/// ```
/// use checkrein_engine::worker::{AutoApproveReviewer, CheckpointHandler};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reviewer = AutoApproveReviewer::new()?;
/// let result = reviewer.on_checkpoint("analyst", "report", "draft content".into()).await?;
/// assert!(result); // always
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AutoApproveReviewer {
    store: CheckpointStore,
}

impl AutoApproveReviewer {
    /// Its records are gone with it; [`recording_in`](AutoApproveReviewer::recording_in) keeps them.
    pub fn new() -> Result<AutoApproveReviewer, CheckpointError> {
        CheckpointStore::new().map(AutoApproveReviewer::recording_in)
    }

    pub fn recording_in(store: CheckpointStore) -> AutoApproveReviewer {
        AutoApproveReviewer { store: store.acting_as(Reviewer::AutoApprove.name()) }
    }
}

impl CheckpointHandler for AutoApproveReviewer {
    fn on_checkpoint<'a>(
        &'a self,
        worker_name: &'a str,
        phase: &'a str,
        deliverable: Deliverable,
    ) -> Answer<'a> {
        Box::pin(async move {
            let asked = self.store.ask(None, deliverable, worker_name, phase).await?;
            self.store.decide(&asked.id, Verdict::Approve, Some(AUTOMATIC.to_owned())).await?;
            Ok(true)
        })
    }
}

/// Leaves the answer to a person: a checkpoint waits in the store, and the worker pauses.
///
/// ```
/// use checkrein_engine::worker::{CheckpointHandler, CheckpointStore, PendingReviewer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = CheckpointStore::new()?;
/// let reviewer = PendingReviewer::new(store.clone());
///
/// let result = reviewer.on_checkpoint("analyst", "report", "draft content".into()).await?;
/// assert!(!result); // execution pauses
///
/// // A checkpoint is now in the store
/// let pending = store.list_pending()?;
/// println!("Pending checkpoints: {}", pending.len());
///
/// // A person looks and approves
/// store.approve(&pending[0].id)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PendingReviewer {
    store: CheckpointStore,
}

impl PendingReviewer {
    pub fn new(store: CheckpointStore) -> PendingReviewer {
        PendingReviewer { store }
    }
}

impl CheckpointHandler for PendingReviewer {
    fn on_checkpoint<'a>(
        &'a self,
        worker_name: &'a str,
        phase: &'a str,
        deliverable: Deliverable,
    ) -> Answer<'a> {
        Box::pin(async move {
            self.store.ask(None, deliverable, worker_name, phase).await?;
            Ok(false)
        })
    }
}
