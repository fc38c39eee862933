//! The store on SQLite: one writer with group commit, readers beside it.

pub(crate) mod backup;
mod nothing;
mod reader;
mod reading;
mod restore;
pub(crate) mod schema;
mod watch;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use checkrein_core::deliverable::Digest;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::watch as notice;

use self::nothing::Nothing;
use self::reader::Reader;
use self::reading::Reading;
pub use self::restore::{Restored, restore};
use self::watch::Watcher;
use self::writing::StoreFile;
pub(crate) use self::writing::Writing;
use crate::file_system::FileSystem;
use crate::writer::{Medium, Writer};
use crate::{StoreError, TokenRow, principal, sql};

#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    access: Access,
    readers: Mutex<Vec<Reader>>,
    changed: notice::Sender<u64>,
    /// Started by the first one who waits.
    watcher: OnceLock<Result<Watcher, StoreError>>,
}

/// What may be done with it.
#[derive(Debug)]
enum Access {
    Write(Writer),
    Read(Reading),
    /// There is no file: everything is as in a store nobody has used yet.
    Missing(Nothing),
}

/// How long a writer waits for another process before it gives up.
const BUSY_MAX: Duration = Duration::from_secs(60);
const READERS_KEPT_MAX: usize = 8;

impl Sqlite {
    /// Opens the store at `path`, making it and its directory if they are not there.
    pub fn open(path: &Path, changed: notice::Sender<u64>) -> Result<Sqlite, StoreError> {
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
        // What is written is spread over every table and index; a page that is not kept is read again first.
        connection.execute_batch("PRAGMA cache_size = -16384")?;
        // Without it the store works as well, only less evenly.
        let queue = queue_file(&path);
        let writing = Writing::new(connection, queue, StoreFile::new(&path));
        let writer = Writer::start(Medium::Sqlite(Box::new(writing)), changed.clone())?;
        Ok(Sqlite::with(path, Access::Write(writer), changed))
    }

    /// Opens a store to look at it. Where it cannot be written it is read as it lies there, and every
    /// change is refused. Where there is none, none is made: it reads as a new one (R14).
    pub fn open_to_read(path: &Path, changed: notice::Sender<u64>) -> Result<Sqlite, StoreError> {
        if !path.exists() && !path.is_symlink() {
            let path = std::path::absolute(path)
                .map_err(|error| StoreError::Open { path: path.to_owned(), reason: error.to_string() })?;
            let nothing = Nothing::new(&path)?;
            return Ok(Sqlite::with(path, Access::Missing(nothing), changed));
        }
        match Sqlite::open(path, changed.clone()) {
            Err(StoreError::ReadOnly | StoreError::Open { .. }) if path.is_file() => {
                let path = Place::of(path)?.path;
                let reading = Reading::of(&path)?;
                Ok(Sqlite::with(path, Access::Read(reading), changed))
            }
            opened => opened,
        }
    }

    fn with(path: PathBuf, access: Access, changed: notice::Sender<u64>) -> Sqlite {
        Sqlite { path, access, readers: Mutex::default(), changed, watcher: OnceLock::new() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub const fn is_there(&self) -> bool {
        !matches!(self.access, Access::Missing(_))
    }

    /// The directory it lies in.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    pub fn schema_version(&self) -> i64 {
        schema::known_version()
    }

    pub fn writer(&self) -> Result<&Writer, StoreError> {
        match &self.access {
            Access::Write(writer) => Ok(writer),
            Access::Read(_) => Err(StoreError::ReadOnly),
            Access::Missing(_) => Err(self.missing()),
        }
    }

    fn missing(&self) -> StoreError {
        StoreError::Open { path: self.path.clone(), reason: "there is no such file".to_owned() }
    }

    pub fn changes(&self) -> Result<notice::Receiver<u64>, StoreError> {
        if let Access::Missing(_) = &self.access {
            return Err(self.missing());
        }
        let started = self.watcher.get_or_init(|| {
            let connection = connect(&self.path)?;
            Watcher::start(&self.path, connection, self.changed.clone())
        });
        match started {
            Ok(_) => Ok(self.changed.subscribe()),
            Err(error) => Err(error.clone()),
        }
    }

    /// Reads are short and happen where they are asked for, on a connection kept for them.
    pub fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&sql::Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let reader = self.reader()?;
        let result = work(&reader.connection);
        if let Access::Read(reading) = &self.access {
            reading.verify(&self.path)?;
        }
        self.give_back(reader);
        result
    }

    /// Who a token belongs to, which every request asks. A reader remembers it for as long as nobody
    /// commits anything.
    pub fn token(&self, secret: &Digest) -> Result<Option<TokenRow>, StoreError> {
        if let Access::Read(_) | Access::Missing(_) = &self.access {
            return self.read(|connection| principal::by_secret(connection, secret));
        }
        let mut reader = self.reader()?;
        let found = reader.token(secret);
        self.give_back(reader);
        found
    }

    fn reader(&self) -> Result<Reader, StoreError> {
        let kept = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(reader) = kept {
            return Ok(reader);
        }
        let connection = match &self.access {
            Access::Write(_) => connect(&self.path)?,
            Access::Read(reading) => reading.connect(&self.path)?,
            Access::Missing(nothing) => nothing.connect(&self.path)?,
        };
        connection.execute_batch("PRAGMA query_only = 1")?;
        Ok(Reader::new(sql::Connection::Sqlite(Box::new(connection))))
    }

    fn give_back(&self, reader: Reader) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < READERS_KEPT_MAX {
            readers.push(reader);
        }
    }

    /// How much the file and its log take.
    pub fn bytes(&self) -> (u64, u64) {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        (size(&self.path), size(&beside(&self.path, "-wal")))
    }

    /// Writes the file anew without gaps.
    pub fn vacuum(&self) -> Result<(), StoreError> {
        // Not on the writing thread: this cannot be part of a transaction.
        let connection = connect(&self.path)?;
        Ok(connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")?)
    }
}

/// A companion SQLite keeps beside a file.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
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
    let name = beside(path, "-queue");
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
