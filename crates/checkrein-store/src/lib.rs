//! What Checkrein remembers.
//!
//! The interface is asynchronous and knows no SQL: a caller loads a state at a version, lets the core
//! decide, and commits what came of it against that version. One enum of back ends is behind it.

mod address;
mod answered;
mod block_on;
mod chat;
mod checkpoint;
mod content;
mod delivery;
mod error;
mod event;
mod file_system;
mod frame;
mod index;
mod lease;
mod postgres;
mod principal;
mod run;
mod session;
mod sql;
mod sqlite;
mod store;
mod transfer;
mod webhook;
mod writer;

pub use address::StoreAddress;
pub use answered::{KeptAnswer, KeyedRequest, KnownRequest};
pub use block_on::{block_on, block_on_until};
pub use chat::{Asked, ChatRow, Grown, NewProposal, OpenChat};
pub use checkpoint::{CheckpointFilter, Page, StoredCheckpoint};
pub use delivery::{Delivered, DeliveryRow, Health, NewDelivery};
pub use error::{CommitError, StoreError};
pub use event::{Position, StoredEvent};
pub use file_system::FileSystem;
pub use frame::{FrameCommit, SessionFilter, SessionItem, StoredSession};
pub use index::{
    ChunkVector, FoundChunk, IndexPlace, IndexState, IndexUpdate, Indexed, IndexedChunk, IndexedFile,
    KnownFile, NewVector, SearchIndex, Updated,
};
pub use lease::{
    After, Claimant, Claimed, Holder, Lease, LeaseRow, Needs, Queued, Reach, Renewed, Standing, Stays,
    WorkerRow,
};
pub use postgres::PostgresAddress;
pub use principal::TokenRow;
pub use run::{RunCommit, RunFilter, RunKind, RunRow, StoredRun};
pub use session::{SessionRow, SignedIn};
pub use sqlite::{Restored, restore};
pub use store::{Checked, Copied, Imported, Stats, Store, Swept, Vacuumed};
pub use transfer::TransferError;
pub use webhook::{Backlog, WebhookRow};

use checkrein_core::checkpoint::Checkpoint;
use checkrein_core::deliverable::Content;
use checkrein_core::event::Event;
use jiff::Timestamp;

/// How often a stream was changed; 0 is a stream that is not there yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u64);

/// One change of one stream: everything in it is there afterwards, or nothing.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The version the change was decided on; another one there is a conflict.
    pub expected: Version,
    /// The state after the change.
    pub checkpoint: Checkpoint,
    /// What happened, in order.
    pub events: Vec<Event>,
    pub at: Timestamp,
    /// Content the state refers to, where it may be new.
    pub content: Option<Content>,
}
