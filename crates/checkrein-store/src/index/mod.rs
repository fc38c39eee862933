//! The index of one job's workspace: what can be found in it, by words and by meaning.
//!
//! It is made from what git has and can be made again. Where the store is a file, it is a file beside the job's others
//! and not among what must not be lost; where the store is a server, it is in tables there, so that everybody who uses
//! that server can search. Each job has its own: nothing of another one can be found in it.

mod postgres;
mod sqlite;

use std::path::{Path, PathBuf};

use checkrein_core::deliverable::Digest;
use jiff::Timestamp;

use postgres::PostgresIndex;
pub(crate) use postgres::Tables;
use sqlite::SqliteIndex;

use crate::sql::{self, Connection, Row};
use crate::{Store, StoreError};

/// Where the index of a job is, or will be.
#[derive(Clone, Debug)]
pub struct IndexPlace {
    job: String,
    kept: Kept,
}

#[derive(Clone, Debug)]
enum Kept {
    File(PathBuf),
    Server(Store),
}

/// The index of one job. Opened for a question or a change, and closed again.
#[derive(Debug)]
pub struct SearchIndex(Backend);

#[derive(Debug)]
enum Backend {
    Sqlite(Box<SqliteIndex>),
    Postgres(PostgresIndex),
}

impl Store {
    /// Where the index of a job is; `file` is that place if this store is a file as well.
    pub fn index(&self, job: &str, file: &Path) -> IndexPlace {
        let kept = if self.is_on_server() { Kept::Server(self.clone()) } else { Kept::File(file.to_owned()) };
        IndexPlace { job: job.to_owned(), kept }
    }
}

impl IndexPlace {
    /// The job it is of; within a store that says which one it is.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// The index, made if it is not there. One that cannot be used is made anew.
    pub fn open(&self) -> Result<SearchIndex, StoreError> {
        Ok(SearchIndex(match &self.kept {
            Kept::File(path) => Backend::Sqlite(Box::new(SqliteIndex::open(path)?)),
            Kept::Server(store) => Backend::Postgres(PostgresIndex::of(store, &self.job)),
        }))
    }

    /// The index, if there is one that can be used.
    pub fn open_existing(&self) -> Result<Option<SearchIndex>, StoreError> {
        Ok(match &self.kept {
            Kept::File(path) => {
                SqliteIndex::open_existing(path)?.map(|index| SearchIndex(Backend::Sqlite(Box::new(index))))
            }
            Kept::Server(store) => {
                let index = PostgresIndex::of(store, &self.job);
                index.is_there()?.then_some(SearchIndex(Backend::Postgres(index)))
            }
        })
    }

    pub fn is_there(&self) -> Result<bool, StoreError> {
        match &self.kept {
            Kept::File(path) => Ok(path.is_file()),
            Kept::Server(store) => PostgresIndex::of(store, &self.job).is_there(),
        }
    }

    /// Takes an index away with all that belongs to it.
    pub fn remove(&self) -> Result<(), StoreError> {
        match &self.kept {
            Kept::File(path) => {
                SqliteIndex::remove(path);
                Ok(())
            }
            Kept::Server(store) => PostgresIndex::of(store, &self.job).remove(),
        }
    }
}

macro_rules! either {
    ($index:expr, $found:ident => $work:expr) => {
        match $index {
            Backend::Sqlite($found) => $work,
            Backend::Postgres($found) => $work,
        }
    };
}

impl SearchIndex {
    /// Tells it from one that took its place.
    pub fn identity(&self) -> Result<(u64, u64), StoreError> {
        either!(&self.0, index => index.identity())
    }

    /// What it is of; none before anything was put there.
    pub fn state(&self, model: &str) -> Result<Option<IndexState>, StoreError> {
        either!(&self.0, index => index.state(model))
    }

    /// The commit it is of; none before anything was put there.
    pub fn head(&self) -> Result<Option<String>, StoreError> {
        either!(&self.0, index => index.head())
    }

    /// Changes whenever anything in it does; 0 before anything was put there.
    pub fn generation(&self) -> Result<u64, StoreError> {
        either!(&self.0, index => index.generation())
    }

    pub fn files(&self) -> Result<Vec<KnownFile>, StoreError> {
        either!(&self.0, index => index.files())
    }

    /// Makes it the index of a commit, in one step: what changed is put there, what is gone is taken out. It must still
    /// be of the commit `before` that the change was made against.
    pub fn update(&mut self, update: &IndexUpdate, before: Option<&str>) -> Result<Updated, StoreError> {
        either!(&self.0, index => index.update(update, before))
    }

    /// Texts that have no vector of a model yet: digest, and what the model is to read.
    pub fn missing(&self, model: &str, limit: usize) -> Result<Vec<(Digest, String)>, StoreError> {
        either!(&self.0, index => index.missing(model, limit))
    }

    /// Vectors of texts that are still there; others are left out.
    pub fn put_vectors(&mut self, model: &str, vectors: &[NewVector]) -> Result<(), StoreError> {
        either!(&self.0, index => index.put_vectors(model, vectors))
    }

    /// Chunks with any of the words, best first, in some files or in all.
    pub fn by_words(
        &self,
        words: &[String],
        files: Option<&[i64]>,
        limit: usize,
    ) -> Result<Vec<i64>, StoreError> {
        either!(&self.0, index => index.by_words(words, files, limit))
    }

    /// The chunks nearest to a vector, best first; none where vectors are not compared there, so that whoever asks
    /// has to compare [`SearchIndex::vectors`].
    pub fn nearest(
        &self,
        model: &str,
        to: &[f32],
        files: Option<&[i64]>,
        limit: usize,
    ) -> Result<Option<Vec<i64>>, StoreError> {
        match &self.0 {
            Backend::Sqlite(_) => Ok(None),
            Backend::Postgres(index) => index.nearest(model, to, files, limit),
        }
    }

    /// Every vector of a model.
    pub fn vectors(&self, model: &str) -> Result<Vec<ChunkVector>, StoreError> {
        either!(&self.0, index => index.vectors(model))
    }

    /// Chunks by their numbers, in that order; those that are gone meanwhile are left out.
    pub fn chunks(&self, ids: &[i64]) -> Result<Vec<FoundChunk>, StoreError> {
        either!(&self.0, index => index.chunks(ids))
    }
}

/// Numbers as a list in JSON, by which both back ends take several values as one.
fn listed(numbers: &[i64]) -> String {
    format!("[{}]", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(","))
}

/// Everything in `work` is there afterwards, or nothing.
fn in_transaction<T>(
    connection: &Connection,
    begin: &str,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.execute_batch(begin)?;
    let done = work().and_then(|value| {
        connection.execute_batch("COMMIT")?;
        Ok(value)
    });
    if done.is_err() {
        // Where the connection is gone, so is the transaction.
        let _ = connection.execute_batch("ROLLBACK");
    }
    done
}

/// Head, phase, when it was built, generation: what is kept of an index beside what it holds.
fn read_state(row: &Row<'_>) -> Result<IndexState, sql::Error> {
    Ok(IndexState {
        head: row.get(0)?,
        phase: row.get(1)?,
        built_at: Timestamp::from_millisecond(row.get(2)?).unwrap_or(Timestamp::UNIX_EPOCH),
        generation: row.get::<_, i64>(3)?.cast_unsigned(),
        files: 0,
        chunks: 0,
        missing: 0,
        unreadable: Vec::new(),
    })
}

/// A path, and why the file could not be read.
fn read_unreadable(row: &Row<'_>) -> Result<(String, String), sql::Error> {
    Ok((row.get(0)?, row.get(1)?))
}

/// Id, path, content, phase.
fn read_file(row: &Row<'_>) -> Result<KnownFile, sql::Error> {
    Ok(KnownFile { id: row.get(0)?, path: row.get(1)?, content: row.get(2)?, phase: row.get(3)? })
}

/// Id, path, phase, heading, first line, last line, text.
fn read_chunk(row: &Row<'_>) -> Result<FoundChunk, sql::Error> {
    Ok(FoundChunk {
        id: row.get(0)?,
        path: row.get(1)?,
        phase: row.get(2)?,
        heading: row.get(3)?,
        first_line: row.get(4)?,
        last_line: row.get(5)?,
        text: row.get(6)?,
    })
}

/// Chunk, file, vector.
fn read_vector(row: &Row<'_>) -> Result<ChunkVector, sql::Error> {
    Ok(ChunkVector { chunk: row.get(0)?, file: row.get(1)?, vector: row.get(2)? })
}

/// Digest, heading, text: the digest, and what the model is to read.
fn read_missing(row: &Row<'_>) -> Result<(Digest, String), sql::Error> {
    let (digest, heading, text): (Vec<u8>, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let odd = || StoreError::Damaged { reason: "a chunk has a bad digest".to_owned() };
    let digest = Digest::from_bytes(&digest).ok_or_else(odd)?;
    Ok((digest, if heading.is_empty() { text } else { format!("{heading}\n{text}") }))
}

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

/// What came of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    Done,
    /// Somebody else was first, and nothing was changed.
    Overtaken,
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

/// A vector on its way into an index.
#[derive(Clone, Debug, PartialEq)]
pub struct NewVector {
    /// Of the text it belongs to.
    pub digest: Digest,
    /// As it comes back.
    pub bytes: Vec<u8>,
    /// The same for a server that compares vectors itself.
    pub numbers: Vec<f32>,
}

/// The vector of a chunk, as it was put there.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkVector {
    pub chunk: i64,
    pub file: i64,
    pub vector: Vec<u8>,
}
