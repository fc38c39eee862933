use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkrein_core::checkpoint::Verdict;
use checkrein_core::config::{Settings, env};
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_store::{CheckpointFilter, Store};
use tempfile::TempDir;

use super::{Checkpoint, CheckpointError, CheckpointRejectedError, CheckpointStatus, Deliverable};
use crate::{CheckpointView, Engine, EngineError, NewCheckpoint, VerdictRequest};
use checkrein_store::{block_on, block_on_until};

/// Checkpoints that survive the process, for any number of threads and processes.
///
/// ```
/// use checkrein_engine::worker::{CheckpointStatus, CheckpointStore};
///
/// let store = CheckpointStore::new()?;
///
/// // A new checkpoint, with an id made for it
/// let cp = store.create("Draft market analysis report...", "analyst-acme-corp", "strategy-report")?;
/// println!("Checkpoint ID: {}", cp.id);
/// assert_eq!(cp.status, CheckpointStatus::Pending);
///
/// // Or with an id of your own
/// let cp = store.submit("custom-id-123", "Draft report...", "analyst-acme-corp", "strategy-report")?;
/// assert!(store.is_pending(&cp.id)?);
/// assert!(!store.is_approved(&cp.id)?);
/// assert!(!store.is_rejected(&cp.id)?);
///
/// // Approve
/// store.approve(&cp.id)?;
/// assert!(store.is_approved(&cp.id)?);
///
/// // Or reject with a reason: another one, since a checkpoint is decided once (C5)
/// let other = store.create("Draft report...", "analyst-acme-corp", "strategy-report")?;
/// store.reject(&other.id, "Needs more competitor analysis")?;
/// assert!(store.is_rejected(&other.id)?);
/// assert!(store.reject(&cp.id, "too late").is_err());
///
/// // Look one up, list what waits, forget everything (for tests)
/// let cp = store.get(&cp.id)?.expect("it is there");
/// assert!(cp.resolved_at.is_some());
/// assert_eq!(store.list_pending()?.len(), 1);
/// store.clear()?;
/// assert_eq!(store.get(&cp.id)?, None);
/// # Ok::<(), checkrein_engine::worker::CheckpointError>(())
/// ```
///
/// Every call blocks until the disk has it and needs no runtime; inside one it is still correct, but
/// holds the thread it runs on. Clones share one store.
///
/// What reaches the store holds, whatever the level: asking [`should_checkpoint`](super::should_checkpoint)
/// comes before. An id nobody knows is not there, is in no status, and cannot be decided (C4):
///
/// ```
/// # let store = checkrein_engine::worker::CheckpointStore::new()?;
/// assert_eq!(store.get("nobody")?, None);
/// assert!(!store.is_pending("nobody")?);
/// let refused = store.approve("nobody").unwrap_err();
/// assert_eq!(refused.to_string(), "there is no checkpoint `nobody`");
/// # Ok::<(), checkrein_engine::worker::CheckpointError>(())
/// ```
#[derive(Clone)]
pub struct CheckpointStore {
    shared: Arc<Shared>,
    /// Verdicts are recorded under its name.
    by: Principal,
}

struct Shared {
    engine: Engine,
    // INVARIANT: dropped after the engine, which writes into it.
    _directory: Option<TempDir>,
}

/// So many are loaded at once.
const PAGE: usize = 500;

/// What a worker's checkpoint is unless it says otherwise, as on the command line.
const TYPE: &str = "deliverable";

impl CheckpointStore {
    /// A store in a private temporary file, removed with the last clone.
    pub fn new() -> Result<CheckpointStore, CheckpointError> {
        let owner_only = std::fs::Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new().prefix("checkrein-").permissions(owner_only).tempdir();
        let directory = directory.map_err(CheckpointError::NoTemporaryStore)?;
        CheckpointStore::at(&directory.path().join("store.db"), Some(directory))
    }

    /// The store at `path`, made if it is not there. The `checkrein` command works on the same file.
    ///
    /// ```
    /// use checkrein_engine::worker::CheckpointStore;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("store.db");
    /// let first = CheckpointStore::open(&path)?;
    /// first.submit("draft-7", "draft", "analyst", "report")?;
    /// drop(first);
    ///
    /// let second = CheckpointStore::open(&path)?;
    /// assert!(second.is_pending("draft-7")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<CheckpointStore, CheckpointError> {
        CheckpointStore::at(path.as_ref(), None)
    }

    fn at(path: &Path, directory: Option<TempDir>) -> Result<CheckpointStore, CheckpointError> {
        let store = Store::open(path).map_err(EngineError::from)?;
        // Whoever calls has asked the policy already: what comes here holds.
        let environment = vec![(env::WORKER_AUTONOMY.to_owned(), "manual".to_owned())];
        let settings = Settings::new(None, None, None, environment).map_err(EngineError::from)?;
        let engine = Engine::new(store, settings);
        let by = Principal::new("library", PrincipalKind::Program, Role::Admin);
        Ok(CheckpointStore { shared: Arc::new(Shared { engine, _directory: directory }), by })
    }

    /// The same store, with verdicts recorded under another name.
    ///
    /// ```
    /// # let store = checkrein_engine::worker::CheckpointStore::new()?;
    /// let cp = store.create("draft", "analyst", "report")?;
    /// store.acting_as("ann").approve(&cp.id)?;
    /// # Ok::<(), checkrein_engine::worker::CheckpointError>(())
    /// ```
    pub fn acting_as(&self, name: impl Into<String>) -> CheckpointStore {
        let by = Principal { name: name.into(), ..self.by.clone() };
        CheckpointStore { shared: Arc::clone(&self.shared), by }
    }

    /// A new checkpoint that waits for a verdict. The deliverable is text, bytes or any JSON, up to 16 MiB.
    ///
    /// ```
    /// # let store = checkrein_engine::worker::CheckpointStore::new()?;
    /// store.create("a text", "analyst", "report")?;
    /// store.create(vec![0x50, 0x4b, 0xff], "analyst", "report")?;
    /// store.create(serde_json::json!({"pages": 12, "draft": true}), "analyst", "report")?;
    /// assert_eq!(store.list_pending()?.len(), 3);
    /// # Ok::<(), checkrein_engine::worker::CheckpointError>(())
    /// ```
    pub fn create(
        &self,
        deliverable: impl Into<Deliverable>,
        worker_name: &str,
        phase: &str,
    ) -> Result<Checkpoint, CheckpointError> {
        block_on(self.ask(None, deliverable.into(), worker_name, phase))
    }

    /// The same under an id of the worker's own. Submitted again with the same content it is the
    /// checkpoint that is there, answer included, so a restarted worker passes (C10); with other
    /// content it is a conflict (C6).
    ///
    /// ```
    /// # let store = checkrein_engine::worker::CheckpointStore::new()?;
    /// store.submit("draft-7", "draft", "analyst", "report")?;
    /// store.approve("draft-7")?;
    ///
    /// let again = store.submit("draft-7", "draft", "analyst", "report")?;
    /// assert_eq!(again.status.name(), "approved");
    /// assert!(store.submit("draft-7", "another draft", "analyst", "report").is_err());
    /// # Ok::<(), checkrein_engine::worker::CheckpointError>(())
    /// ```
    pub fn submit(
        &self,
        id: &str,
        deliverable: impl Into<Deliverable>,
        worker_name: &str,
        phase: &str,
    ) -> Result<Checkpoint, CheckpointError> {
        block_on(self.ask(Some(id.to_owned()), deliverable.into(), worker_name, phase))
    }

    /// None if nobody knows the id.
    pub fn get(&self, id: &str) -> Result<Option<Checkpoint>, CheckpointError> {
        match block_on(self.engine().checkpoint(&self.by, id)) {
            Ok(view) => Ok(Some(view.into())),
            Err(EngineError::NoCheckpoint(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Approves, or finds that it was approved before; a conflict if it was decided otherwise (C5).
    pub fn approve(&self, id: &str) -> Result<Checkpoint, CheckpointError> {
        block_on(self.decide(id, Verdict::Approve, None))
    }

    /// Rejects, or finds that it was rejected before; a conflict if it was decided otherwise (C5).
    pub fn reject(&self, id: &str, reason: &str) -> Result<Checkpoint, CheckpointError> {
        block_on(self.decide(id, Verdict::Reject, Some(reason.to_owned())))
    }

    pub fn is_pending(&self, id: &str) -> Result<bool, CheckpointError> {
        self.is(id, CheckpointStatus::Pending)
    }

    pub fn is_approved(&self, id: &str) -> Result<bool, CheckpointError> {
        self.is(id, CheckpointStatus::Approved)
    }

    pub fn is_rejected(&self, id: &str) -> Result<bool, CheckpointError> {
        self.is(id, CheckpointStatus::Rejected)
    }

    /// Waits until somebody approves, here or in another process. Everything else is an error: a
    /// rejection with its reason (C9), and no answer within `at_most`, which is never an approval.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use checkrein_engine::worker::{CheckpointError, CheckpointStore};
    ///
    /// let store = CheckpointStore::new()?;
    /// let cp = store.create("draft", "analyst", "report")?;
    /// let early = store.wait(&cp.id, Some(Duration::from_millis(5)));
    /// assert!(matches!(early, Err(CheckpointError::StillPending { .. })));
    ///
    /// let reviewer = store.clone();
    /// let id = cp.id.clone();
    /// let reviewer = std::thread::spawn(move || reviewer.approve(&id));
    /// let approved = store.wait(&cp.id, None)?;
    /// assert_eq!(approved.deliverable, Some("draft".into()));
    /// # reviewer.join().expect("the reviewer is well")?;
    /// # Ok::<(), CheckpointError>(())
    /// ```
    pub fn wait(&self, id: &str, at_most: Option<Duration>) -> Result<Checkpoint, CheckpointError> {
        // A time too far away to be told is no bound.
        let bound = at_most.and_then(|at_most| Instant::now().checked_add(at_most));
        loop {
            let seen = block_on(self.engine().checkpoint(&self.by, id))?;
            if seen.checkpoint.status != CheckpointStatus::Pending {
                // What has timed out counts as rejected, whether or not this can be put on record here.
                let _ = block_on(self.engine().record_timeouts());
                return passed(seen);
            }
            let left = self.engine().time_left(&seen.checkpoint);
            let expires = left.and_then(|left| Instant::now().checked_add(left));
            let decided = self.engine().decided_checkpoint(&self.by, id);
            let Some(until) = bound.into_iter().chain(expires).min() else {
                return passed(block_on(decided)?);
            };
            match block_on_until(until, decided) {
                Some(decided) => return passed(decided?),
                None if bound.is_some_and(|bound| bound <= Instant::now()) => {
                    return Err(CheckpointError::StillPending { id: id.to_owned() });
                }
                None => {}
            }
        }
    }

    /// In creation order (C7).
    pub fn list_pending(&self) -> Result<Vec<Checkpoint>, CheckpointError> {
        let filter =
            CheckpointFilter { status: Some(CheckpointStatus::Pending), ..CheckpointFilter::default() };
        block_on(async {
            let mut pending = Vec::new();
            let mut next = Some(0);
            while let Some(after) = next {
                let page = self.engine().checkpoints(&self.by, &filter, after, PAGE).await?;
                for item in page.items {
                    pending.push(self.whole(item.checkpoint).await?);
                }
                next = page.next;
            }
            Ok(pending)
        })
    }

    /// Forgets every checkpoint, decided or not. For tests.
    pub fn clear(&self) -> Result<(), CheckpointError> {
        Ok(block_on(self.engine().clear_checkpoints(&self.by))?)
    }

    pub(super) async fn ask(
        &self,
        id: Option<String>,
        deliverable: Deliverable,
        worker_name: &str,
        phase: &str,
    ) -> Result<Checkpoint, CheckpointError> {
        let new = NewCheckpoint {
            id,
            worker: worker_name.to_owned(),
            phase: phase.to_owned(),
            kind: TYPE.to_owned(),
            deliverable,
        };
        let made = self.engine().create_checkpoint(&self.by, new).await?;
        self.whole(made).await
    }

    pub(super) async fn decide(
        &self,
        id: &str,
        verdict: Verdict,
        reason: Option<String>,
    ) -> Result<Checkpoint, CheckpointError> {
        let request = VerdictRequest::new(verdict, reason);
        let decided = self.engine().give_verdict(&self.by, id, &request).await?;
        self.whole(decided).await
    }

    fn is(&self, id: &str, status: CheckpointStatus) -> Result<bool, CheckpointError> {
        Ok(self.get(id)?.is_some_and(|checkpoint| checkpoint.status == status))
    }

    async fn whole(
        &self,
        checkpoint: checkrein_core::checkpoint::Checkpoint,
    ) -> Result<Checkpoint, CheckpointError> {
        let content = self.engine().store().content(&checkpoint.digest).await.map_err(EngineError::from)?;
        Ok(Checkpoint::of(checkpoint, content))
    }

    fn engine(&self) -> &Engine {
        &self.shared.engine
    }
}

/// Only an approval lets a worker pass.
fn passed(view: CheckpointView) -> Result<Checkpoint, CheckpointError> {
    let checkpoint = &view.checkpoint;
    match checkpoint.status {
        CheckpointStatus::Approved | CheckpointStatus::NotRequired => Ok(view.into()),
        CheckpointStatus::Pending => Err(CheckpointError::StillPending { id: checkpoint.id.to_string() }),
        status => Err(CheckpointRejectedError {
            id: checkpoint.id.to_string(),
            status,
            reason: checkpoint.reason.clone().unwrap_or_default(),
        }
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::worker::{AutoApproveReviewer, CheckpointHandler};

    fn store() -> CheckpointStore {
        CheckpointStore::new().unwrap()
    }

    #[test]
    fn of_racing_reviewers_exactly_one_wins() {
        let store = store();
        for round in 0..50 {
            let id = format!("race-{round}");
            store.submit(&id, "draft", "w", "p").unwrap();
            let won: usize = thread::scope(|scope| {
                let approve = scope.spawn(|| store.approve(&id).is_ok());
                let reject = scope.spawn(|| store.reject(&id, "no").is_ok());
                usize::from(approve.join().unwrap()) + usize::from(reject.join().unwrap())
            });
            assert_eq!(won, 1);
        }
        assert!(store.list_pending().unwrap().is_empty());
    }

    #[test]
    fn the_same_verdict_again_changes_nothing() {
        let store = store();
        let made = store.create("draft", "w", "p").unwrap();
        let first = store.acting_as("ann").reject(&made.id, "too short").unwrap();
        thread::sleep(Duration::from_millis(3));
        let second = store.acting_as("bob").reject(&made.id, "other words").unwrap();
        assert_eq!(first, second);
        assert_eq!(second.rejection_reason, "too short");
        let conflict = store.approve(&made.id).unwrap_err();
        assert_eq!(conflict.to_string(), format!("checkpoint `{}` is already rejected by ann", made.id));
    }

    #[test]
    fn a_waiter_is_told_every_answer_but_an_approval_as_an_error() {
        let store = store();
        for (verdict, reason, expected) in [
            (Verdict::Approve, None, "passed"),
            (Verdict::Reject, Some("too short"), "checkpoint `c` is rejected: too short"),
            (Verdict::Reject, None, "checkpoint `c` is rejected"),
            (
                Verdict::RequestChanges,
                Some("add a table"),
                "checkpoint `c` is changes_requested: add a table",
            ),
        ] {
            store.submit("c", "draft", "w", "p").unwrap();
            let told = thread::scope(|scope| {
                let waiter = scope.spawn(|| store.wait("c", Some(Duration::from_secs(20))));
                thread::sleep(Duration::from_millis(20));
                block_on(store.decide("c", verdict, reason.map(str::to_owned))).unwrap();
                waiter.join().unwrap()
            });
            let told = told.map_or_else(|error| error.to_string(), |_| "passed".to_owned());
            assert_eq!(told, expected);
            store.clear().unwrap();
        }
        let unknown = store.wait("c", None).unwrap_err();
        assert_eq!(unknown.to_string(), "there is no checkpoint `c`");
    }

    #[test]
    fn calls_work_inside_a_runtime_too() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = store();
            let made = store.create("draft", "w", "p").unwrap();
            store.approve(&made.id).unwrap();
            store.wait(&made.id, Some(Duration::from_secs(20))).unwrap();
        });
    }

    #[test]
    fn an_automatic_approval_is_recorded_as_one() {
        let store = store();
        let reviewer = AutoApproveReviewer::recording_in(store.clone());
        assert!(block_on(reviewer.on_checkpoint("w", "p", "draft".into())).unwrap());
        let engine = store.engine();
        let all = block_on(engine.checkpoints(&store.by, &CheckpointFilter::default(), 0, 10)).unwrap();
        let only = &all.items.first().unwrap().checkpoint;
        assert_eq!(all.items.len(), 1);
        assert_eq!(only.resolved_by.as_deref(), Some("auto-approve"));
        assert_eq!(only.reason.as_deref(), Some("approved automatically"));
    }

    #[test]
    fn pending_ones_are_listed_in_creation_order_across_pages() {
        let store = store();
        let ids: Vec<String> = (0..PAGE + 3).rev().map(|number| format!("c{number}")).collect();
        for id in &ids {
            store.submit(id, "draft", "w", "p").unwrap();
        }
        let listed: Vec<String> = store.list_pending().unwrap().into_iter().map(|c| c.id).collect();
        assert_eq!(listed, ids);
    }

    #[test]
    fn a_temporary_store_leaves_nothing_behind() {
        let store = store();
        let clone = store.clone();
        let directory = store.engine().store().directory().to_owned();
        assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        drop(store);
        clone.create("draft", "w", "p").unwrap();
        drop(clone);
        assert!(!directory.exists());
    }
}
