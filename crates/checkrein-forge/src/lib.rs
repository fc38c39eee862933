//! What the engine needs of git and of forges for jobs.
//!
//! Git is the `git` program. A job has a bare repository of its own; its agent works in a clone that is
//! hostile ground: git never runs there with a configuration, a hook or an attribute that an agent could
//! have written, and files are read without following links.

mod git;
mod repository;

mod clone;
mod merge;
mod push;
mod serve;

mod remote;

mod commit;
mod diff;
mod grep;
mod log;
mod mirror;
mod publish;
mod tree;

mod branch;
mod error;
mod identity;
mod oid;
mod path;

mod call;
mod import;
mod refs;
mod sweep;

pub use branch::{Branch, Names};
pub use call::Stop;
pub use checkrein_core::run::job::Merge;
pub use clone::{Collect, Collected, Finding, Limits, remove_all, remove_at};
pub use commit::{FileChange, FilesCommit};
pub use diff::{Change, Diff, DiffLimits, FileDiff, Hunk, Line, LineKind};
pub use error::ForgeError;
pub use git::Git;
pub use grep::{Letters, Occurrence, Occurrences};
pub use identity::{Identity, Signature};
pub use log::{Commit, LogWanted};
pub use merge::{Conflict, ConflictedFile, MergeRequest, Merged};
pub use oid::Oid;
pub use path::TreePath;
pub use publish::{Publish, Published};
pub use push::Landing;
pub use remote::{
    Account, Check, Found, NewPull, NewRemark, Opinion, PublishedThere, PullRequest, PullState, Pushed,
    Received, Remark, Remote, RemoteError, RemoteMerge, Says, Spot, TakenFrom, Token, key_of, marked,
    unmarked,
};
pub use repository::{Bare, Source};
pub use serve::{Ending, Part, Served, Service};
pub use tree::{EntryKind, FileContent, TreeEntry};
