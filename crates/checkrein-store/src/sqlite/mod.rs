//! The store on SQLite: one writer with group commit, readers beside it.

mod schema;
mod watch;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use checkrein_core::checkpoint::CheckpointId;
use checkrein_core::deliverable::{Content, Digest};
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::watch as notice;

use self::watch::Watcher;
use self::writer::Writer;
use crate::{
    CheckpointFilter, Commit, CommitError, Page, Position, StoreError, StoredCheckpoint, StoredEvent,
    TokenRow, checkpoint, content, event, principal,
};

/// What Checkrein remembers. Cheap to clone; all clones share one writer.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    writer: Writer,
    readers: Mutex<Vec<Connection>>,
    changed: notice::Sender<u64>,
    /// Started by the first one who waits.
    watcher: OnceLock<Result<Watcher, StoreError>>,
}

/// How long a writer waits for another process before it gives up.
const BUSY_MAX: Duration = Duration::from_secs(60);
const READERS_KEPT_MAX: usize = 8;

impl Store {
    /// Opens the store at `path`, making it and its directory if they are not there.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let refuse = |reason: String| StoreError::Open { path: path.to_owned(), reason };
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let made = !directory.exists();
        std::fs::create_dir_all(directory).map_err(|error| refuse(error.to_string()))?;
        let directory = directory.canonicalize().map_err(|error| refuse(error.to_string()))?;
        if made {
            // What agents hand in is nobody else's business.
            restrict(&directory);
        }
        let name = path.file_name().ok_or_else(|| refuse("it names no file".to_owned()))?;
        let path = directory.join(name);
        if let Some(kind) = network_file_system(&directory) {
            return Err(StoreError::NetworkFileSystem { path, kind: kind.to_owned() });
        }
        let new = !path.exists();
        if new {
            make(&path).map_err(|error| refuse(error.to_string()))?;
        }
        let mut connection = connect(&path)?;
        schema::migrate(&mut connection, &path)?;
        if new {
            // The name of a new file is safe only when its directory is.
            let synced = std::fs::File::open(&directory).and_then(|directory| directory.sync_all());
            synced.map_err(|error| refuse(error.to_string()))?;
        }
        let (changed, _) = notice::channel(0);
        let writer = Writer::start(connection, changed.clone())?;
        let inner = Inner { path, writer, readers: Mutex::default(), changed, watcher: OnceLock::new() };
        Ok(Store { inner: Arc::new(inner) })
    }

    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Makes a change durable, if its stream is still at the version it was decided on.
    pub async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        let work = move |connection: &Connection| {
            checkpoint::put(connection, &commit)?;
            event::append(connection, commit.checkpoint.id.as_str(), &commit)?;
            if let Some(new) = &commit.content {
                content::put(connection, new)?;
            }
            Ok(())
        };
        self.inner.writer.run(work).await
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

    pub async fn add_token(&self, token: TokenRow, secret: Digest) -> Result<(), StoreError> {
        self.inner.writer.run(move |connection| principal::put(connection, &token, &secret)).await
    }

    pub async fn token(&self, secret: &Digest) -> Result<Option<TokenRow>, StoreError> {
        self.read(|connection| principal::by_secret(connection, secret))
    }

    pub async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        self.read(principal::list)
    }

    pub async fn revoke_token(&self, id: String, at: Timestamp) -> Result<bool, StoreError> {
        self.inner.writer.run(move |connection| principal::revoke(connection, &id, at)).await
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

    /// What the store holds.
    pub async fn stats(&self) -> Result<Stats, StoreError> {
        let bytes = std::fs::metadata(&self.inner.path).map_or(0, |metadata| metadata.len());
        self.read(|connection| {
            let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
            Ok(Stats {
                bytes,
                schema: schema::known_version(),
                checkpoints: count("SELECT count(*) FROM checkpoints")?,
                pending: count("SELECT count(*) FROM checkpoints WHERE status = 'pending'")?,
                events: count("SELECT count(*) FROM events")?,
                contents: count("SELECT count(*) FROM contents")?,
                tokens: count("SELECT count(*) FROM tokens")?,
            })
        })
    }

    /// Reads are short and happen where they are asked for, on a connection kept for them.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let kept = self.inner.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match kept {
            Some(connection) => connection,
            None => {
                let connection = connect(&self.inner.path)?;
                connection.execute_batch("PRAGMA query_only = 1")?;
                connection
            }
        };
        let result = work(&connection);
        let mut readers = self.inner.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < READERS_KEPT_MAX {
            readers.push(connection);
        }
        result
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    pub bytes: u64,
    pub schema: i64,
    pub checkpoints: i64,
    pub pending: i64,
    pub events: i64,
    pub contents: i64,
    pub tokens: i64,
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)
        .map_err(|error| StoreError::Open { path: path.to_owned(), reason: error.to_string() })?;
    connection.busy_timeout(BUSY_MAX)?;
    connection.set_prepared_statement_cache_capacity(64);
    // The next statement would change the file of somebody else.
    schema::inspect(&connection, path)?;
    // A reader of a store that is just being made must not see it half made.
    connection.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA journal_size_limit = 67108864;
         PRAGMA wal_autocheckpoint = 2000;",
    )?;
    Ok(connection)
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

/// SQLite's shared memory works on one machine only.
#[cfg(target_os = "linux")]
fn network_file_system(directory: &Path) -> Option<&'static str> {
    const KINDS: [(i64, &str); 7] = [
        (0x6969, "nfs"),
        (0x517b, "smb"),
        (0xfe53_4d42, "smb2"),
        (0xff53_4d42, "cifs"),
        (0x5346_414f, "afs"),
        (0x00c3_6400, "ceph"),
        (0x0bd0_0bd0, "lustre"),
    ];
    let found = rustix::fs::statfs(directory).ok()?.f_type;
    KINDS.iter().find(|(kind, _)| *kind == found).map(|(_, name)| *name)
}

#[cfg(not(target_os = "linux"))]
fn network_file_system(_: &Path) -> Option<&'static str> {
    None
}
