//! What Checkrein remembers, whichever back end keeps it.

mod backup;
mod chat;
mod check;
mod copy;
mod export;
mod frame;
mod import;
mod lease;
mod retention;
mod session;
mod stats;
mod vacuum;
mod webhook;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use checkrein_core::checkpoint::CheckpointId;
use checkrein_core::deliverable::{Content, Digest};
use checkrein_core::run::RunId;
use jiff::Timestamp;
use tokio::sync::watch as notice;

pub use self::check::Checked;
pub(crate) use self::check::{examine, examine_file};
pub use self::copy::Copied;
pub use self::import::Imported;
pub use self::retention::Swept;
pub use self::stats::Stats;
pub use self::vacuum::Vacuumed;
use crate::index::Tables;
use crate::postgres::{self, Again, Postgres};
use crate::sql::{Connection, Kind};
use crate::sqlite::Sqlite;
use crate::writer::Writer;
use crate::{
    CheckpointFilter, Commit, CommitError, KeptAnswer, KeyedRequest, KnownRequest, Page, Position, RunCommit,
    RunFilter, StoreAddress, StoreError, StoredCheckpoint, StoredEvent, StoredRun, TokenRow, Version,
    answered, checkpoint, content, event, principal, run,
};

/// What Checkrein remembers. Cheap to clone; all clones share one writer.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    backend: Backend,
    /// Where files that belong to it lie on this machine.
    directory: PathBuf,
}

#[derive(Debug)]
pub(crate) enum Backend {
    Sqlite(Box<Sqlite>),
    Postgres(Box<Postgres>),
}

impl Store {
    /// Opens the store in the file `path`, making it and its directory if they are not there.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        Sqlite::open(path, notice::channel(0).0).map(Store::of_file)
    }

    /// Opens a store to look at it. Where it cannot be written it is read as it lies there, and every
    /// change is refused.
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        Sqlite::open_to_read(path, notice::channel(0).0).map(Store::of_file)
    }

    /// Opens the store at an address. `files` is where this machine keeps the files of runs, where the
    /// address is not a file on it.
    pub fn open_at(address: &StoreAddress, files: &Path) -> Result<Store, StoreError> {
        match address {
            StoreAddress::Sqlite(path) => Store::open(path),
            StoreAddress::Postgres(address) => {
                let directory = postgres::directory_in(files, address);
                let opening = || Postgres::open((**address).clone(), notice::channel(0).0);
                let backend = Backend::Postgres(Box::new(postgres::stepping_aside(opening)?));
                Ok(Store { inner: Arc::new(Inner { backend, directory }) })
            }
        }
    }

    /// The same to look at it.
    pub fn open_at_to_read(address: &StoreAddress, files: &Path) -> Result<Store, StoreError> {
        match address {
            StoreAddress::Sqlite(path) => Store::open_to_read(path),
            StoreAddress::Postgres(_) => Store::open_at(address, files),
        }
    }

    /// The same for whoever may write there, but is not the one to make it.
    pub fn open_existing_at(address: &StoreAddress, files: &Path) -> Result<Store, StoreError> {
        match address {
            StoreAddress::Sqlite(path) if !path.exists() => Store::open_to_read(path),
            _ => Store::open_at(address, files),
        }
    }

    fn of_file(sqlite: Sqlite) -> Store {
        let directory = sqlite.directory().to_owned();
        Store { inner: Arc::new(Inner { backend: Backend::Sqlite(Box::new(sqlite)), directory }) }
    }

    /// Where it is, without what is secret about that.
    pub fn address(&self) -> StoreAddress {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => StoreAddress::Sqlite(sqlite.path().to_owned()),
            Backend::Postgres(postgres) => StoreAddress::Postgres(Box::new(postgres.address().clone())),
        }
    }

    /// Whether it was there to be opened; one that was not reads as empty, and cannot be written.
    pub fn is_there(&self) -> bool {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.is_there(),
            Backend::Postgres(_) => true,
        }
    }

    /// Where files that belong to it lie on this machine.
    pub fn directory(&self) -> &Path {
        &self.inner.directory
    }

    /// Makes a change durable, if its stream is still at the version it was decided on.
    pub async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        let bodies = event::bodies(&commit)?;
        let work = move |connection: &Connection| checkpoint::commit(connection, &commit, &bodies);
        self.writer()?.run(work).await
    }

    /// The same for a run.
    pub async fn commit_run(&self, commit: RunCommit) -> Result<(), CommitError> {
        let bodies = run::bodies(&commit)?;
        let of_checkpoint = commit.checkpoint.as_ref().map(event::bodies).transpose()?.unwrap_or_default();
        let work = move |connection: &Connection| run::commit(connection, &commit, &bodies, &of_checkpoint);
        self.writer()?.run(work).await
    }

    pub async fn run(&self, id: &str) -> Result<Option<StoredRun>, StoreError> {
        self.read(|connection| run::get(connection, id))
    }

    /// How often a run was changed; 0 where there is none.
    pub async fn run_version(&self, id: &str) -> Result<Version, StoreError> {
        self.read(|connection| run::version(connection, id))
    }

    /// The newest runs whose id begins or ends with a text, two at most.
    pub async fn runs_named(&self, text: &str) -> Result<Vec<RunId>, StoreError> {
        self.read(|connection| run::named(connection, text))
    }

    /// The newest first, before the run numbered `before`.
    pub async fn runs(
        &self,
        filter: &RunFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<StoredRun>, StoreError> {
        self.read(|connection| run::list(connection, filter, before, limit))
    }

    /// Forgets what happened in a run that is still at this version.
    pub async fn trim_run(&self, id: String, version: Version) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| run::trim(connection, &id, version)).await
    }

    /// Forgets a run that is still at this version, and the checkpoints it waited at.
    pub async fn remove_run(&self, id: String, version: Version) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| run::remove(connection, &id, version)).await
    }

    /// Every event of one stream, oldest first.
    pub async fn history(&self, stream: &str) -> Result<Vec<StoredEvent>, StoreError> {
        self.read(|connection| event::of_stream(connection, stream))
    }

    pub async fn checkpoint(&self, id: &CheckpointId) -> Result<Option<StoredCheckpoint>, StoreError> {
        self.read(|connection| checkpoint::get(connection, id.as_str()))
    }

    /// In creation order, after the checkpoint numbered `after`.
    pub async fn checkpoints(
        &self,
        filter: &CheckpointFilter,
        after: i64,
        limit: usize,
    ) -> Result<Page<StoredCheckpoint>, StoreError> {
        self.read(|connection| checkpoint::list(connection, filter, after, limit))
    }

    /// How many checkpoints wait for a person at a moment.
    pub async fn count_pending(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.read(|connection| checkpoint::count_pending(connection, now))
    }

    /// Checkpoints that have timed out by a moment and are still on record as pending.
    pub async fn overdue_checkpoints(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.read(|connection| checkpoint::overdue(connection, now, limit))
    }

    pub async fn content(&self, digest: &Digest) -> Result<Option<Content>, StoreError> {
        self.read(|connection| content::get(connection, digest))
    }

    /// The log after a position, of one stream or of all.
    pub async fn events(
        &self,
        after: Position,
        stream: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.read(|connection| event::after(connection, after, stream, limit))
    }

    /// The same of a run and the checkpoints it waited at.
    pub async fn events_of_run(
        &self,
        after: Position,
        run: &str,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.read(|connection| event::of_run(connection, after, run, limit))
    }

    /// The same of what belongs to an agent.
    pub async fn events_of_owner(
        &self,
        after: Position,
        owner: &str,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.read(|connection| event::of_owner(connection, after, owner, limit))
    }

    /// Whether a run or a checkpoint belongs to an agent.
    pub async fn is_of_owner(&self, stream: &str, owner: &str) -> Result<bool, StoreError> {
        self.read(|connection| event::is_of_owner(connection, stream, owner))
    }

    /// The position of what was committed last.
    pub async fn last_position(&self) -> Result<Position, StoreError> {
        self.read(event::last)
    }

    /// Whether a checkpoint belongs to a run.
    pub async fn is_of_run(&self, checkpoint: &str, run: &str) -> Result<bool, StoreError> {
        let found = self.read(|connection| checkpoint::get(connection, checkpoint))?;
        Ok(found.is_some_and(|found| found.checkpoint.run.as_deref() == Some(run)))
    }

    /// Forgets every checkpoint with its events and contents. Positions are not used again.
    pub async fn clear_checkpoints(&self) -> Result<(), StoreError> {
        self.writer()?.run(checkpoint::clear).await
    }

    pub async fn add_token(&self, token: TokenRow, secret: Digest) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| principal::put(connection, &token, &secret)).await
    }

    pub async fn token(&self, secret: &Digest) -> Result<Option<TokenRow>, StoreError> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.token(secret),
            Backend::Postgres(_) => self.read(|connection| principal::by_secret(connection, secret)),
        }
    }

    /// A token by its public name.
    pub async fn token_named(&self, id: &str) -> Result<Option<TokenRow>, StoreError> {
        self.read(|connection| principal::by_id(connection, id))
    }

    pub async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        self.read(principal::list)
    }

    pub async fn revoke_token(&self, id: String, at: Timestamp) -> Result<bool, StoreError> {
        self.writer()?.run(move |connection| principal::revoke(connection, &id, at)).await
    }

    /// Begins a request that has a key, unless the key is taken: then what is there. Keys that were
    /// taken before `old_before` are free again.
    pub async fn begin_request(
        &self,
        request: KeyedRequest,
        old_before: Timestamp,
    ) -> Result<Option<KnownRequest>, StoreError> {
        self.writer()?.run(move |connection| answered::begin(connection, &request, old_before)).await
    }

    /// Keeps how a request with a key was answered.
    pub async fn finish_request(
        &self,
        by: String,
        key: String,
        answer: KeptAnswer,
    ) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| answered::finish(connection, (&by, &key), &answer)).await
    }

    /// Forgets a request with a key that has no answer.
    pub async fn forget_request(&self, by: String, key: String) -> Result<(), StoreError> {
        self.writer()?.run(move |connection| answered::forget(connection, &by, &key)).await
    }

    /// What the clock of the store says: the server's, or this machine's.
    pub async fn database_clock(&self) -> Result<Timestamp, StoreError> {
        self.read(|connection| {
            let sql = match connection.kind() {
                Kind::Sqlite => "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
                Kind::Postgres => "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
            };
            let ms: i64 = connection.query_row(sql, [], |row| row.get(0))?;
            let odd = |error: jiff::Error| StoreError::Other { reason: error.to_string() };
            Timestamp::from_millisecond(ms).map_err(odd)
        })
    }

    /// Marks when somebody commits, here or in another process. Take it before reading: whatever is
    /// committed after that is marked.
    pub fn changes(&self) -> Result<notice::Receiver<u64>, StoreError> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.changes(),
            Backend::Postgres(postgres) => postgres::stepping_aside(|| postgres.changes()),
        }
    }

    /// Whether it is on a server that others may use as well.
    pub(crate) fn is_on_server(&self) -> bool {
        matches!(self.inner.backend, Backend::Postgres(_))
    }

    /// Works on the tables of the index, which are made when they are first needed. What is found again in git may be
    /// written beside the one writer: nobody has to wait for it.
    pub(crate) fn with_index<T>(
        &self,
        work: impl Fn(&Connection, Tables) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Backend::Postgres(postgres) = &self.inner.backend else { return Err(StoreError::Closed) };
        self.read(|connection| work(connection, postgres.index_tables(connection)?))
    }

    fn writer(&self) -> Result<&Writer, StoreError> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.writer(),
            Backend::Postgres(postgres) => Ok(postgres.writer()),
        }
    }

    /// Reads where it is asked for. `work` may be done again where a connection was lost.
    fn read<T>(&self, work: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.read(work),
            Backend::Postgres(postgres) => postgres::stepping_aside(|| {
                postgres.read(|connection| Again { result: work(connection), repeatable: true })
            }),
        }
    }

    /// The same for work with an error of its own that is done once.
    fn read_once<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.read(work),
            Backend::Postgres(postgres) => postgres::stepping_aside(|| {
                let mut work = Some(work);
                postgres.read(|connection| Again {
                    result: work.take().map_or(Err(StoreError::Closed.into()), |work| work(connection)),
                    repeatable: false,
                })
            }),
        }
    }
}
