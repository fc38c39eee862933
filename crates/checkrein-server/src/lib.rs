//! Checkrein over HTTP: parse, call one method of the engine, render. A face, so it has no rules of its
//! own; what is new here is who may come in, and how.

mod answer;
mod app;
mod ask;
mod authorization;
mod call;
mod chat;
mod cockpit;
mod connection;
mod door;
pub mod error;
mod git;
mod keyed;
pub mod mcp;
mod metrics;
mod openapi;
mod rates;
mod route;
mod routes;
mod session;
mod tail;
mod traces;
pub mod wire;
mod workers;

use std::net::SocketAddr;
use std::sync::Arc;

use checkrein_engine::{Engine, LOOK_EVERY};
use tokio::net::TcpListener;
use tokio::sync::watch;

use app::{App, SetUp};
pub use app::{Experts, Limits};
pub use authorization::page as authorization;
use door::Names;
pub use openapi::document as openapi;
pub use session::Transport;
pub use traces::{Traced, Traces};
pub use workers::{Watcher, Work, Workers};

/// How a server is set up.
#[derive(Clone)]
pub struct Config {
    pub listen: SocketAddr,
    /// Names it answers under, beside those of this machine's loopback.
    pub names: Vec<String>,
    /// How browsers reach it.
    pub transport: Transport,
    pub limits: Limits,
    /// Finds the experts that have a file.
    pub experts: Experts,
    /// Who goes on with runs; none leaves them to others.
    pub work: Option<Work>,
    /// Where requests are traced.
    pub traces: Option<Traces>,
}

impl Config {
    /// On loopback, with nobody who works.
    pub fn new(listen: SocketAddr) -> Config {
        let (names, limits) = (Vec::new(), Limits::default());
        let experts = Arc::new(Vec::new);
        Config { listen, names, transport: Transport::Plain, limits, experts, work: None, traces: None }
    }
}

/// A server that has its address, and answers once it is run.
pub struct Server {
    listener: TcpListener,
    app: App,
    stop: watch::Receiver<bool>,
}

impl Server {
    /// Takes the address. When `stop` becomes true, the server ends.
    pub async fn bind(
        engine: Arc<Engine>,
        config: Config,
        stop: watch::Receiver<bool>,
    ) -> std::io::Result<Server> {
        let listener = TcpListener::bind(config.listen).await?;
        let start = |work| Workers::start(Arc::clone(&engine), work, stop.clone());
        let workers = config.work.map(start).transpose()?;
        // Workers do that beside everything else.
        if workers.is_none() {
            tokio::spawn(record_timeouts(Arc::clone(&engine), stop.clone()));
        }
        let mut names = Names { own: config.names };
        // An address it was told to listen on is a name somebody chose.
        match config.listen {
            address if address.ip().is_unspecified() => {}
            SocketAddr::V4(address) => names.own.push(address.ip().to_string()),
            SocketAddr::V6(address) => names.own.push(format!("[{}]", address.ip())),
        }
        let set_up = SetUp {
            limits: config.limits,
            names,
            transport: config.transport,
            experts: config.experts,
            traces: config.traces,
        };
        let (close, closing) = watch::channel(false);
        let (mut ending, drain) = (stop.clone(), config.limits.drain);
        tokio::spawn(async move {
            if ending.wait_for(|stop| *stop).await.is_ok() {
                tokio::time::sleep(drain).await;
                let _ = close.send(true);
            }
        });
        let app = App::new(engine, workers, set_up, (stop, closing.clone()));
        Ok(Server { listener, app, stop: closing })
    }

    /// The address it really has.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The secret of a link that signs a browser in once, as an administrator of this name.
    pub fn sign_in_link(&self, name: &str) -> String {
        self.app.links().make(name, self.app.engine().now())
    }

    /// Answers until it is to stop, and until what is under way is answered.
    pub async fn run(mut self) {
        let router = routes::router(&self.app);
        let tail = self.app.tail().clone().run(self.app.shared_engine(), self.stop.clone());
        let tail = tokio::spawn(tail);
        connection::accept(self.listener, router, &self.app, &mut self.stop).await;
        let _ = tail.await;
        if let Some(workers) = self.app.workers().cloned() {
            let _ = tokio::task::spawn_blocking(move || workers.join()).await;
        }
    }
}

/// Puts on record what nobody answered in time, until the server ends.
async fn record_timeouts(engine: Arc<Engine>, mut stop: watch::Receiver<bool>) {
    loop {
        // What cannot be recorded now counts as rejected all the same, and is recorded later.
        let _ = engine.record_timeouts().await;
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}
