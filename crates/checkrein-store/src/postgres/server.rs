//! The server of a store: how it is reached, and the thread that carries what is said to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_postgres::{Client, Connection, Socket};

use super::address::PostgresAddress;
use super::session::{Session, explain};
use super::tls::{Encrypted, MakeRustls};
use super::{Pause, schema};
use crate::StoreError;
use crate::block_on::block_on;

pub(super) struct Server {
    address: PostgresAddress,
    tls: MakeRustls,
    runtime: Handle,
    /// Tells our own commits from those of others.
    pub instance: String,
    /// What writers of this store line up at; other stores of the same database have their own.
    lock: AtomicI64,
    /// Dropped with the server: its thread ends.
    _running: oneshot::Sender<()>,
}

/// How long a server that just starts is waited for by whoever opens a store.
const OPENING_MAX: Duration = Duration::from_secs(10);
/// The oldest server that is spoken to.
const SERVER_MIN: i64 = 15;

/// What every connection begins with. A writer that sleeps in a transaction keeps all others waiting, so
/// the server ends it; what is acknowledged is on disk, whatever the server was told.
const BEGINNING: &str = "
    SET idle_in_transaction_session_timeout = '5s';
    SET lock_timeout = '60s';
    SET statement_timeout = 0;
    SET client_min_messages = warning;
    SET bytea_output = hex;
    SELECT CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
                THEN set_config('synchronous_commit', 'on', false) END;";

impl Server {
    pub fn start(address: PostgresAddress) -> Result<Server, StoreError> {
        let tls = MakeRustls::new(&address.tls)?;
        let other = |error: std::io::Error| StoreError::Other { reason: error.to_string() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(other)?;
        let handle = runtime.handle().clone();
        let (running, ended) = oneshot::channel::<()>();
        thread::Builder::new()
            .name("checkrein-postgres".to_owned())
            .spawn(move || drop(runtime.block_on(ended)))
            .map_err(other)?;
        let instance = format!("{:016x}", super::dice());
        Ok(Server { address, tls, runtime: handle, instance, lock: AtomicI64::new(0), _running: running })
    }

    pub const fn address(&self) -> &PostgresAddress {
        &self.address
    }

    pub const fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// The name under which commits are told.
    pub fn channel(&self) -> String {
        format!("checkrein_{:x}", self.lock())
    }

    pub fn lock(&self) -> i64 {
        self.lock.load(Ordering::Relaxed)
    }

    /// The first connection of all: learns what the server is.
    pub fn first_session(self: &Arc<Server>) -> Result<Session, StoreError> {
        let session = self.session(Instant::now() + OPENING_MAX)?;
        let refuse = |reason: String| StoreError::Refused { address: self.address.to_string(), reason };
        let number = |sql: &str| -> Result<i64, StoreError> {
            Ok(session.ask(sql)?.and_then(|text| text.parse().ok()).unwrap_or_default())
        };
        let version = number("SELECT current_setting('server_version_num')::bigint / 10000")?;
        if version < SERVER_MIN {
            return Err(refuse(format!("PostgreSQL {version} is too old, it takes {SERVER_MIN} or later")));
        }
        if session
            .ask("SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()")?
            .is_none_or(|encoding| encoding != "UTF8")
        {
            return Err(refuse("its database is not encoded in UTF8".to_owned()));
        }
        self.lock.store(
            number("SELECT hashtextextended('checkrein/' || coalesce(current_schema(), ''), 0)")?,
            Ordering::Relaxed,
        );
        Ok(session)
    }

    /// A new connection; a server that cannot be reached is tried until the deadline.
    pub fn session(self: &Arc<Server>, deadline: Instant) -> Result<Session, StoreError> {
        let mut pause = Pause::default();
        loop {
            match self.try_session() {
                Err(StoreError::Unreachable { .. }) if Instant::now() < deadline => pause.take(),
                settled => return settled,
            }
        }
    }

    fn try_session(self: &Arc<Server>) -> Result<Session, StoreError> {
        let own = Arc::clone(self);
        // On the thread of the connections: connecting takes timers.
        let connecting = self.runtime.spawn(async move {
            let (client, connection) = own.connect().await?;
            tokio::spawn(async move {
                // Whoever speaks to it learns that it ended.
                let _ = connection.await;
            });
            Ok::<_, StoreError>(client)
        });
        let client = block_on(connecting).map_err(|_| StoreError::Closed)??;
        let session = Session::new(client, self.address.to_string());
        session.batch(BEGINNING)?;
        if self.lock() != 0 {
            // A server of a newer Checkrein may have changed the tables while we were away.
            schema::guard(&session, self)?;
        }
        Ok(session)
    }

    pub async fn connect(&self) -> Result<(Client, Connection<Socket, Encrypted<Socket>>), StoreError> {
        let connected = self.address.config.connect(self.tls.clone()).await;
        connected.map_err(|error| explain(&error, &self.address.to_string()))
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Server({})", self.address)
    }
}
