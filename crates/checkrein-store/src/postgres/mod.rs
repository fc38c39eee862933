//! The store on PostgreSQL: one writing connection with group commit, readers beside it, one that listens.
//!
//! Positions follow commit order because every writer takes one lock before it writes and has it until
//! its commit is done; the numbers a sequence gives are then in the order of commits.

mod address;
mod dialect;
mod schema;
mod server;
mod session;
mod tls;
mod watch;
mod writing;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch as notice;

pub use self::address::PostgresAddress;
use self::server::Server;
pub(crate) use self::session::Session;
use self::watch::Watcher;
pub(crate) use self::writing::Writing;
use crate::StoreError;
use crate::index::Tables;
use crate::sql::Connection;
use crate::writer::{Medium, Writer};

/// How long a server that is gone is waited for, before somebody is told.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// So many questions are asked at once; the server has connections for others, too.
const READERS_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct Postgres {
    server: Arc<Server>,
    writer: Writer,
    readers: Readers,
    changed: notice::Sender<u64>,
    /// Started by the first one who waits.
    watcher: OnceLock<Result<Watcher, StoreError>>,
    /// Known once somebody searched.
    index: OnceLock<Tables>,
}

impl Postgres {
    /// Connects, and makes the tables if they are not there.
    pub fn open(address: PostgresAddress, changed: notice::Sender<u64>) -> Result<Postgres, StoreError> {
        let server = Arc::new(Server::start(address)?);
        let first = server.first_session()?;
        schema::migrate(&first, &server)?;
        let writing = Writing::new(Arc::clone(&server), first);
        let writer = Writer::start(Medium::Postgres(Box::new(writing)), changed.clone())?;
        Ok(Postgres {
            server,
            writer,
            readers: Readers::default(),
            changed,
            watcher: OnceLock::new(),
            index: OnceLock::new(),
        })
    }

    pub const fn writer(&self) -> &Writer {
        &self.writer
    }

    pub fn address(&self) -> &PostgresAddress {
        self.server.address()
    }

    pub fn schema_version(&self) -> i64 {
        schema::known_version()
    }

    /// Reads on a connection kept for it. Where the connection is lost, `work` is done again on another one,
    /// as long as it can be.
    pub fn read<T, E: From<StoreError>>(
        &self,
        mut work: impl FnMut(&Connection) -> Again<T, E>,
    ) -> Result<T, E> {
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Pause::default();
        loop {
            let connection = self.readers.take(&self.server, deadline)?;
            let Again { result, repeatable } = work(&connection);
            let lost = connection.is_broken();
            self.readers.give_back(connection);
            if result.is_ok() || !lost || !repeatable || Instant::now() >= deadline {
                return result;
            }
            pause.take();
        }
    }

    /// The tables of the index, made if they are not there.
    pub fn index_tables(&self, connection: &Connection) -> Result<Tables, StoreError> {
        if let Some(known) = self.index.get() {
            return Ok(*known);
        }
        let found = Tables::make(connection, self.server.lock())?;
        Ok(*self.index.get_or_init(|| found))
    }

    pub fn changes(&self) -> Result<notice::Receiver<u64>, StoreError> {
        let started = self.watcher.get_or_init(|| Watcher::start(&self.server, self.changed.clone()));
        match started {
            Ok(_) => Ok(self.changed.subscribe()),
            Err(error) => Err(error.clone()),
        }
    }
}

/// What came of work, and whether it may be done again.
pub(crate) struct Again<T, E> {
    pub result: Result<T, E>,
    pub repeatable: bool,
}

/// Whoever waits for an answer of the server leaves the other tasks of the thread to others.
pub(crate) fn stepping_aside<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Where the files of runs lie on this machine, for a store that is on none.
pub(crate) fn directory_in(root: &Path, address: &PostgresAddress) -> std::path::PathBuf {
    use checkrein_core::deliverable::Digest;
    let (host, port, database, _) = address.parts();
    let digest = Digest::of(format!("{host}\n{port}\n{database}").as_bytes()).to_string();
    let short: String = digest.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    root.join(format!("postgres-{short}"))
}

/// Connections that are kept, and how many there are.
#[derive(Debug, Default)]
struct Readers {
    state: Mutex<State>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: VecDeque<Connection>,
    open: usize,
}

impl Readers {
    fn take(&self, server: &Arc<Server>, deadline: Instant) -> Result<Connection, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(connection) = state.idle.pop_back() {
                if connection.is_broken() {
                    state.open -= 1;
                    continue;
                }
                return Ok(connection);
            }
            if state.open < READERS_MAX {
                state.open += 1;
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(StoreError::Busy);
            }
            state = self.free.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        match server.session(deadline) {
            Ok(session) => Ok(Connection::Postgres(Box::new(session))),
            Err(error) => {
                self.closed();
                Err(error)
            }
        }
    }

    fn give_back(&self, connection: Connection) {
        if connection.is_broken() {
            return self.closed();
        }
        self.state.lock().unwrap_or_else(PoisonError::into_inner).idle.push_back(connection);
        self.free.notify_one();
    }

    fn closed(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).open -= 1;
        self.free.notify_one();
    }
}

/// Longer each time, and never the same for everybody.
#[derive(Debug, Default)]
pub(crate) struct Pause(u32);

impl Pause {
    const FIRST: Duration = Duration::from_millis(20);
    const MAX: Duration = Duration::from_secs(2);

    pub fn next(&mut self) -> Duration {
        let pause = (Pause::FIRST * 2_u32.saturating_pow(self.0)).min(Pause::MAX);
        self.0 = (self.0 + 1).min(10);
        // Between half of it and all of it.
        let dice = u32::try_from(dice() % 1000).unwrap_or_default();
        pause / 2 + pause.mul_f64(f64::from(dice) / 2000.0)
    }

    pub fn take(&mut self) {
        std::thread::sleep(self.next());
    }
}

/// Some number.
fn dice() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
