//! Checkrein over HTTP: parse, call one method of the engine, render. A face, so it has no rules of its
//! own; what is new here is who may come in, and how.

mod answer;
mod app;
mod ask;
mod call;
mod connection;
pub mod error;
mod keyed;
mod route;
mod routes;
mod tail;
pub mod wire;
mod workers;

use std::net::SocketAddr;
use std::sync::Arc;

use checkrein_engine::Engine;
use tokio::net::TcpListener;
use tokio::sync::watch;

use app::App;
pub use app::Limits;
use workers::Workers;
pub use workers::{Watcher, Work};

/// How a server is set up.
#[derive(Clone)]
pub struct Config {
    pub listen: SocketAddr,
    pub limits: Limits,
    /// Who goes on with runs; none leaves them to others.
    pub work: Option<Work>,
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
        let app = App::new(engine, config.limits, workers, stop.clone());
        Ok(Server { listener, app, stop })
    }

    /// The address it really has.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
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
