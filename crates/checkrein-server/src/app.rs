//! What all calls share.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkrein_core::principal::Principal;
use checkrein_engine::{AttemptFiles, Engine, EngineError};
use checkrein_store::SessionRow;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::door::Names;
use crate::error::Problem;
use crate::metrics::Metrics;
use crate::rates::Rates;
use crate::session::{Links, Transport};
use crate::tail::Tail;
use crate::traces::Traces;
use crate::workers::Workers;

/// Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    engine: Arc<Engine>,
    limits: Limits,
    names: Names,
    transport: Transport,
    experts: Experts,
    traces: Option<Traces>,
    ending: watch::Receiver<bool>,
    closing: watch::Receiver<bool>,
    workers: Option<Workers>,
    tail: Tail,
    links: Links,
    metrics: Metrics,
    rates: Rates,
    failures: Rates,
    git: Arc<Semaphore>,
}

/// How a server stands in the world.
#[derive(Clone)]
pub struct SetUp {
    pub limits: Limits,
    pub names: Names,
    pub transport: Transport,
    pub experts: Experts,
    pub traces: Option<Traces>,
}

/// Finds the experts that have a file.
pub type Experts = Arc<dyn Fn() -> Vec<(String, PathBuf)> + Send + Sync>;

/// How much a client may ask of the server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub body_bytes_max: usize,
    /// How long a body may take to arrive.
    pub body_time_max: Duration,
    /// How long the head of a request may take to arrive.
    pub head_time_max: Duration,
    pub connections_max: usize,
    /// So often a listener hears that the connection is there, and has to be known still.
    pub sign_of_life: Duration,
    /// How long a request may wait for something to happen.
    pub wait_max: Duration,
    /// How many requests one principal may send at once, and how long it takes until as many are free
    /// again; no time at all is no limit.
    pub requests_max: u32,
    pub requests_every: Duration,
    /// The same for tokens that are not valid, of one address.
    pub failures_max: u32,
    pub failures_every: Duration,
    /// How much one push may bring, how long a fetch or push may take, and how many there are at once.
    pub git_bytes_max: u64,
    pub git_time_max: Duration,
    pub git_at_once: usize,
    /// How long the server goes on answering after it said that it is ending, so that whoever sends
    /// requests here can send them elsewhere.
    pub drain: Duration,
    /// How long requests that are under way may take when the server ends.
    pub closing_max: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            // The largest deliverable in Base64, and room to spare.
            body_bytes_max: 24 << 20,
            body_time_max: Duration::from_secs(30),
            head_time_max: Duration::from_secs(15),
            connections_max: 10_000,
            sign_of_life: Duration::from_secs(15),
            wait_max: Duration::from_secs(60),
            requests_max: 2_000,
            requests_every: Duration::from_secs(1),
            failures_max: 30,
            failures_every: Duration::from_secs(60),
            git_bytes_max: 1 << 30,
            git_time_max: Duration::from_secs(15 * 60),
            git_at_once: 16,
            drain: Duration::ZERO,
            closing_max: Duration::from_secs(10),
        }
    }
}

impl App {
    pub fn new(
        engine: Arc<Engine>,
        workers: Option<Workers>,
        set_up: SetUp,
        (ending, closing): (watch::Receiver<bool>, watch::Receiver<bool>),
    ) -> App {
        let SetUp { limits, names, transport, experts, traces } = set_up;
        App(Arc::new(Shared {
            engine,
            names,
            transport,
            experts,
            traces,
            ending,
            closing,
            workers,
            tail: Tail::default(),
            links: Links::default(),
            metrics: Metrics::default(),
            rates: Rates::new(limits.requests_max, limits.requests_every),
            failures: Rates::new(limits.failures_max, limits.failures_every),
            git: Arc::new(Semaphore::new(limits.git_at_once)),
            limits,
        }))
    }

    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub fn shared_engine(&self) -> Arc<Engine> {
        Arc::clone(&self.0.engine)
    }

    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub fn names(&self) -> &Names {
        &self.0.names
    }

    pub fn transport(&self) -> Transport {
        self.0.transport
    }

    pub fn traces(&self) -> Option<&Traces> {
        self.0.traces.as_ref()
    }

    pub fn expert_files(&self) -> Vec<(String, PathBuf)> {
        (self.0.experts)()
    }

    pub fn experts(&self) -> Experts {
        Arc::clone(&self.0.experts)
    }

    pub fn closing_watch(&self) -> watch::Receiver<bool> {
        self.0.closing.clone()
    }

    pub fn tail(&self) -> &Tail {
        &self.0.tail
    }

    pub fn links(&self) -> &Links {
        &self.0.links
    }

    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub fn workers(&self) -> Option<&Workers> {
        self.0.workers.as_ref()
    }

    /// Who a secret belongs to. Whoever guesses is slowed down.
    pub async fn authenticate(&self, secret: &str, peer: Option<IpAddr>) -> Result<Principal, Problem> {
        self.known(self.engine().authenticate(secret).await, peer)
    }

    /// The attempt a secret is for. Whoever guesses is slowed down as well.
    pub async fn authenticate_attempt(
        &self,
        secret: &str,
        peer: Option<IpAddr>,
    ) -> Result<(Principal, AttemptFiles), Problem> {
        self.known(self.engine().attempt_of_token(secret).await, peer)
    }

    fn known<T>(&self, known: Result<T, EngineError>, peer: Option<IpAddr>) -> Result<T, Problem> {
        if let Err(EngineError::BadToken(_)) = known {
            let who = peer.map_or_else(String::new, |peer| peer.to_string());
            self.0.failures.take(&who, Instant::now())?;
        }
        Ok(known?)
    }

    /// Whose session a secret belongs to. A browser that comes back after its session is over guesses
    /// nothing.
    pub async fn signed_in(
        &self,
        secret: &str,
        peer: Option<IpAddr>,
    ) -> Result<(Principal, SessionRow), Problem> {
        let known = self.engine().session(secret).await;
        if let Err(EngineError::UnknownSession) = known {
            let who = peer.map_or_else(String::new, |peer| peer.to_string());
            self.0.failures.take(&who, Instant::now())?;
        }
        Ok(known?)
    }

    /// Refuses whoever was known once and is not any more: what goes on for long asks again.
    pub async fn still_known(&self, by: &Principal, session: Option<&str>) -> Result<(), EngineError> {
        match session {
            Some(id) => self.engine().still_signed_in(id).await,
            None => self.engine().still_authentic(by).await,
        }
    }

    /// Counts a request of somebody's.
    pub fn count(&self, by: &Principal) -> Result<(), Problem> {
        self.0.rates.take(by.token.as_ref().unwrap_or(&by.name), Instant::now())
    }

    /// Waits until git may be started once more; none only where it never may.
    pub async fn git_turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0.git).acquire_owned().await.ok()
    }

    /// Whether the server is about to end; it may still answer for a while.
    pub fn is_ending(&self) -> bool {
        *self.0.ending.borrow()
    }

    pub fn is_closing(&self) -> bool {
        *self.0.closing.borrow()
    }

    /// Ready when the server ends; whoever waits should not.
    pub async fn closing(&self) {
        let mut closing = self.0.closing.clone();
        if closing.wait_for(|closing| *closing).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
