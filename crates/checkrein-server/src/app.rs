//! What all calls share.

use std::sync::Arc;
use std::time::Duration;

use checkrein_engine::Engine;
use tokio::sync::watch;

use crate::tail::Tail;
use crate::workers::Workers;

/// Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    engine: Arc<Engine>,
    limits: Limits,
    closing: watch::Receiver<bool>,
    tail: Tail,
    workers: Option<Workers>,
}

/// How much a client may ask of the server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub body_bytes_max: usize,
    /// How long a body may take to arrive.
    pub body_time_max: Duration,
    /// How long the head of a request may take to arrive.
    pub head_time_max: Duration,
    pub connections_max: usize,
    /// How long a request may wait for something to happen.
    pub wait_max: Duration,
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
            wait_max: Duration::from_secs(60),
            closing_max: Duration::from_secs(10),
        }
    }
}

impl App {
    pub fn new(
        engine: Arc<Engine>,
        limits: Limits,
        workers: Option<Workers>,
        closing: watch::Receiver<bool>,
    ) -> App {
        App(Arc::new(Shared { engine, limits, closing, tail: Tail::default(), workers }))
    }

    pub fn shared_engine(&self) -> Arc<Engine> {
        Arc::clone(&self.0.engine)
    }

    pub fn tail(&self) -> &Tail {
        &self.0.tail
    }

    pub fn workers(&self) -> Option<&Workers> {
        self.0.workers.as_ref()
    }

    /// A text without what is secret here.
    pub fn redacted<'t>(&self, text: &'t str) -> std::borrow::Cow<'t, str> {
        text.into()
    }

    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub fn limits(&self) -> &Limits {
        &self.0.limits
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
