//! The store on SQLite: one writer with group commit, readers beside it.

mod backup;
mod check;
mod export;
mod import;
mod reading;
mod restore;
mod retention;
mod schema;
mod session;
mod stats;
mod vacuum;
mod waiting;
mod watch;
mod webhook;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use checkrein_core::checkpoint::CheckpointId;
use checkrein_core::deliverable::{Content, Digest};
use checkrein_core::run::RunId;
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::watch as notice;

pub use self::check::Checked;
pub use self::import::Imported;
use self::reading::Reading;
pub use self::restore::{Restored, restore};
pub use self::retention::Swept;
pub use self::stats::Stats;
pub use self::vacuum::Vacuumed;
use self::watch::Watcher;
use self::writer::{StoreFile, Writer};
use crate::file_system::FileSystem;
use crate::{
    CheckpointFilter, Commit, CommitError, KeptAnswer, KeyedRequest, KnownRequest, Page, Position, RunCommit,
    RunFilter, StoreError, StoredCheckpoint, StoredEvent, StoredRun, TokenRow, Version, answered, checkpoint,
    content, event, principal, run,
};

/// What Checkrein remembers. Cheap to clone; all clones share one writer.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    access: Access,
    readers: Mutex<Vec<Connection>>,
    changed: notice::Sender<u64>,
    /// Started by the first one who waits.
    watcher: OnceLock<Result<Watcher, StoreError>>,
}

/// What may be done with it.
#[derive(Debug)]
enum Access {
    Write(Writer),
    Read(Reading),
}

/// How long a writer waits for another process before it gives up.
const BUSY_MAX: Duration = Duration::from_secs(60);
const READERS_KEPT_MAX: usize = 8;

impl Store {
    /// Opens the store at `path`, making it and its directory if they are not there.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let place = Place::of(path)?;
        let refuse = |error: std::io::Error| place.refuse(&error);
        let new = !place.path.exists();
        if new {
            make(&place.path).map_err(refuse)?;
        }
        let mut connection = attach(&place.path)?;
        // Before anything is changed: the file may be somebody else's.
        schema::guard(&connection, &place.path)?;
        let empty = !schema::is_made(&connection)?;
        configure(&connection, &place.path)?;
        schema::migrate(&mut connection, &place.path)?;
        if new || empty {
            // The name of a new file is safe only when its directory is; whoever made it may not have
            // come so far yet.
            place.sync().map_err(refuse)?;
        }
        let path = place.path;
        let (changed, _) = notice::channel(0);
        // Without it the store works as well, only less evenly.
        let queue = queue_file(&path);
        let writer = Writer::start(connection, queue, StoreFile::new(&path), changed.clone())?;
        Ok(Store::with(path, Access::Write(writer), changed))
    }

    /// Opens a store to look at it. Where it cannot be written it is read as it lies there, and every
    /// change is refused.
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        match Store::open(path) {
            Err(StoreError::ReadOnly | StoreError::Open { .. }) if path.is_file() => {
                let path = Place::of(path)?.path;
                let reading = Reading::of(&path)?;
                Ok(Store::with(path, Access::Read(reading), notice::channel(0).0))
            }
            opened => opened,
        }
    }

    fn with(path: PathBuf, access: Access, changed: notice::Sender<u64>) -> Store {
        let inner = Inner { path, access, readers: Mutex::default(), changed, watcher: OnceLock::new() };
        Store { inner: Arc::new(inner) }
    }

    pub fn path(&self) -> &Path {
        &self.inner.path
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

    /// How many checkpoints wait for a person.
    pub async fn count_pending(&self) -> Result<u64, StoreError> {
        self.read(checkpoint::count_pending)
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
        self.read(|connection| principal::by_secret(connection, secret))
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

    /// Marks when somebody commits, here or in another process. Take it before reading: whatever is
    /// committed after that is marked.
    pub fn changes(&self) -> Result<notice::Receiver<u64>, StoreError> {
        let inner = &self.inner;
        let started = inner.watcher.get_or_init(|| {
            let connection = connect(&inner.path)?;
            Watcher::start(&inner.path, connection, inner.changed.clone())
        });
        match started {
            Ok(_) => Ok(inner.changed.subscribe()),
            Err(error) => Err(error.clone()),
        }
    }

    fn writer(&self) -> Result<&Writer, StoreError> {
        match &self.inner.access {
            Access::Write(writer) => Ok(writer),
            Access::Read(_) => Err(StoreError::ReadOnly),
        }
    }

    /// Reads are short and happen where they are asked for, on a connection kept for them.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.read_or(work)
    }

    /// The same for work with an error of its own.
    fn read_or<T, E: From<StoreError> + From<rusqlite::Error>>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let kept = self.inner.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match kept {
            Some(connection) => connection,
            None => {
                let connection = match &self.inner.access {
                    Access::Write(_) => connect(&self.inner.path)?,
                    Access::Read(reading) => reading.connect(&self.inner.path)?,
                };
                connection.execute_batch("PRAGMA query_only = 1")?;
                connection
            }
        };
        let result = work(&connection);
        if let Access::Read(reading) = &self.inner.access {
            reading.verify(&self.inner.path)?;
        }
        let mut readers = self.inner.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < READERS_KEPT_MAX {
            readers.push(connection);
        }
        result
    }
}

/// Where a store is: a directory that is there, on a local disk, and a file in it that may not be.
struct Place {
    directory: PathBuf,
    path: PathBuf,
}

impl Place {
    /// Makes the directory if it is not there.
    fn of(path: &Path) -> Result<Place, StoreError> {
        let refuse = |reason: String| StoreError::Open { path: path.to_owned(), reason };
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // A link stands for the file it leads to; its companions lie beside that.
        let linked = path.is_symlink().then(|| path.canonicalize());
        let linked =
            linked.transpose().map_err(|error| refuse(format!("it is a link to nothing: {error}")))?;
        if let Some(target) = linked {
            return Place::of(&target);
        }
        let missing: Vec<&Path> = directory.ancestors().take_while(|ancestor| !ancestor.exists()).collect();
        std::fs::create_dir_all(directory).map_err(|error| refuse(error.to_string()))?;
        if !missing.is_empty() {
            // What agents hand in is nobody else's business.
            restrict(directory);
        }
        for made in &missing {
            // A new name is safe when its parent is.
            let parent =
                made.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let synced = std::fs::File::open(parent).and_then(|parent| parent.sync_all());
            synced.map_err(|error| refuse(error.to_string()))?;
        }
        let directory = directory.canonicalize().map_err(|error| refuse(error.to_string()))?;
        let name = path.file_name().ok_or_else(|| refuse("it names no file".to_owned()))?;
        let path = directory.join(name);
        // SQLite's shared memory works on one machine only.
        match FileSystem::of(&directory).filter(|system| system.network) {
            Some(FileSystem { kind, .. }) => {
                Err(StoreError::NetworkFileSystem { path, kind: kind.to_owned() })
            }
            None => Ok(Place { directory, path }),
        }
    }

    fn refuse(&self, error: &std::io::Error) -> StoreError {
        StoreError::Open { path: self.path.clone(), reason: error.to_string() }
    }

    /// Makes the names in the directory durable.
    fn sync(&self) -> std::io::Result<()> {
        std::fs::File::open(&self.directory).and_then(|directory| directory.sync_all())
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = attach(path)?;
    configure(&connection, path)?;
    Ok(connection)
}

/// Opens a file that is there, and changes nothing.
fn attach(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| opening(error, path))?;
    connection.busy_timeout(BUSY_MAX)?;
    // Where the file may not be written, SQLite opens it for reading alone and says so late.
    if connection.is_readonly("main")? {
        return Err(StoreError::ReadOnly);
    }
    Ok(connection)
}

fn configure(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    connection.set_prepared_statement_cache_capacity(64);
    let begun = Instant::now();
    loop {
        let configured = connection.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA foreign_keys = ON;
             PRAGMA trusted_schema = OFF;
             PRAGMA temp_store = MEMORY;
             PRAGMA journal_size_limit = 67108864;
             PRAGMA wal_autocheckpoint = 2000;",
        );
        match configured.map_err(|error| opening(error, path)) {
            // While another process makes the same store, SQLite gives up at once instead of waiting.
            Err(StoreError::Busy) if begun.elapsed() < BUSY_MAX => {
                std::thread::sleep(Duration::from_millis(2));
            }
            other => return other,
        }
    }
}

/// What is read in one transaction is of one moment, however long it takes.
fn at_one_moment<T, E: From<rusqlite::Error>>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    let transaction = connection.unchecked_transaction()?;
    work(&transaction)
}

/// A store that cannot be opened is named; everything else is what it is anywhere.
fn opening(error: rusqlite::Error, path: &Path) -> StoreError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::PermissionDenied) | None => {
            StoreError::Open { path: path.to_owned(), reason: error.to_string() }
        }
        Some(rusqlite::ErrorCode::NotADatabase) => StoreError::NotAStore { path: path.to_owned() },
        Some(_) => error.into(),
    }
}

/// Where processes line up to write.
fn queue_file(path: &Path) -> Option<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let name = stats::beside(path, "-queue");
    std::fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(name).ok()
}

/// An empty file that only its owner may read; SQLite gives its companions the same rights.
fn make(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Only the owner may look in.
fn restrict(directory: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700));
}
