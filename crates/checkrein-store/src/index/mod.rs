//! The index of one job's workspace: what can be found in it, by words and by meaning.
//!
//! It is made from what git has and can be made again, so it lies beside the job's files and not among what must
//! not be lost. Each job has its own: nothing of another one can be found in it.

mod sqlite;

use checkrein_core::deliverable::Digest;
use jiff::Timestamp;

pub use sqlite::SearchIndex;

/// A file as it is to be found from now on.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedFile {
    pub path: String,
    /// What it contains, by a name that no other content has.
    pub content: String,
    /// The phase that changed it last.
    pub phase: Option<String>,
    pub found: Indexed,
}

/// What is known of the content of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Indexed {
    /// It is what was there before.
    AsBefore,
    Chunks(Vec<IndexedChunk>),
    /// It has no text that can be read, and why.
    Unreadable(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexedChunk {
    pub heading: String,
    pub first_line: u32,
    pub last_line: u32,
    pub text: String,
    /// Of what the model reads: the same has the same vector.
    pub digest: Digest,
}

/// All files of a workspace at one commit. Files that are not named are not there any more.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexUpdate {
    pub head: String,
    pub phase: String,
    pub at: Timestamp,
    pub files: Vec<IndexedFile>,
}

/// What an index is of.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexState {
    pub head: String,
    pub phase: String,
    pub built_at: Timestamp,
    /// Changes whenever anything in it does.
    pub generation: u64,
    pub files: u64,
    pub chunks: u64,
    /// Chunks that have no vector of the model that was asked about.
    pub missing: u64,
    /// Files that could not be read, and why.
    pub unreadable: Vec<(String, String)>,
}

/// A file that is in the index.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownFile {
    pub id: i64,
    pub path: String,
    pub content: String,
    pub phase: Option<String>,
}

/// A chunk that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundChunk {
    pub id: i64,
    pub path: String,
    pub phase: Option<String>,
    pub heading: String,
    pub first_line: u32,
    pub last_line: u32,
    pub text: String,
}

/// The vector of a chunk, as it was put there.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkVector {
    pub chunk: i64,
    pub file: i64,
    pub vector: Vec<u8>,
}
