//! Checkpoints for workers written in Rust: how far a worker may go alone, and a durable place where its
//! work waits for a person. Everything is a thin, synchronous face of [`Engine`](crate::Engine); the
//! rules are the same ones the command line follows, and both work on the same store.
//!
//! | name | purpose |
//! |---|---|
//! | [`AutonomyLevel`] | manual, semi-supervised, autonomous |
//! | [`AutonomyConfig`] | a level with the checkpoint types at which it holds |
//! | [`should_checkpoint`] | whether a checkpoint is needed |
//! | [`Checkpoint`], [`CheckpointStatus`] | one of them, and how it stands |
//! | [`CheckpointStore`] | where they are kept |
//! | [`CheckpointHandler`] | what answers: [`AutoApproveReviewer`], [`PendingReviewer`], or your own |
//! | [`CheckpointError`], [`CheckpointRejectedError`] | why a worker does not go on |
//!
//! # A worker
//!
//! A worker asks whether to stop, hands in its work, and waits. The person answers in another thread, in
//! another process, or with `checkrein approve`; tomorrow is soon enough.
//!
//! ```
//! use checkrein_engine::worker::{
//!     AutonomyLevel, CheckpointError, CheckpointStore, should_checkpoint,
//! };
//!
//! fn publish(store: &CheckpointStore, level: AutonomyLevel, report: &str) -> Result<String, CheckpointError> {
//!     if should_checkpoint(level, "deliverable") {
//!         // With an id of its own a restarted worker finds its checkpoint again.
//!         let cp = store.submit("report-2026-07", report, "analyst", "strategy-report")?;
//!         store.wait(&cp.id, None)?;
//!     }
//!     Ok(format!("published: {report}"))
//! }
//!
//! let store = CheckpointStore::new()?;
//!
//! // Autonomous: nothing is asked.
//! let published = publish(&store, AutonomyLevel::Autonomous, "draft")?;
//! assert_eq!(published, "published: draft");
//! assert!(store.list_pending()?.is_empty());
//!
//! // Semi-supervised: a person has to approve.
//! let person = store.acting_as("ann");
//! let looking = std::thread::spawn(move || {
//!     loop {
//!         if let Some(cp) = person.list_pending()?.first() {
//!             return person.approve(&cp.id);
//!         }
//!         std::thread::yield_now();
//!     }
//! });
//! publish(&store, AutonomyLevel::SemiSupervised, "draft")?;
//! let approved = looking.join().expect("the person is well")?;
//! assert!(store.is_approved(&approved.id)?);
//! # Ok::<(), CheckpointError>(())
//! ```
//!
//! # What holds
//!
//! - A checkpoint is decided once. The same verdict again changes nothing, another one is a conflict (C5).
//! - No answer is never a yes: [`CheckpointStore::wait`] returns a checkpoint only if it was approved.
//! - What was returned is on disk. [`CheckpointStore::new`] is the exception: its file is temporary.
//! - Whoever can write the file can decide; what that means is in `docs/threat-model.md`.

mod checkpoint;
mod config;
mod error;
mod level;
mod reviewer;
mod store;

pub use checkpoint::{Checkpoint, CheckpointStatus, Deliverable};
pub use config::{AutonomyConfig, should_checkpoint};
pub use error::{CheckpointError, CheckpointRejectedError};
pub use level::{AutonomyLevel, UnknownLevel};
pub use reviewer::{Answer, AutoApproveReviewer, CheckpointHandler, PendingReviewer};
pub use store::CheckpointStore;

/// What the manual shows in Rust is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/checkpoints.md")]
struct Manual;
