//! Connections: taken, bounded in number and patience, and brought to an end.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tower_service::Service;

use crate::app::App;

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Answers requests until `stop` is true; then lets those under way finish.
pub async fn accept(listener: TcpListener, router: Router, app: &App, stop: &mut watch::Receiver<bool>) {
    let limits = *app.limits();
    let room = Arc::new(Semaphore::new(limits.connections_max));
    let graceful = GracefulShutdown::new();
    loop {
        let next = async {
            // Whoever comes when there is no room waits before they are taken.
            let place = Arc::clone(&room).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let Ok(place) = place else { break };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(_) => {
                // Too many open files, nearly always: it passes when others have gone.
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let router = router.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            router.clone().call(request.map(Body::new))
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_time_max)
            .max_headers(100)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        let counted = app.metrics().connection();
        tokio::spawn(async move {
            // A client that breaks off is nobody's error.
            let _ = connection.await;
            drop((place, counted));
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(limits.closing_max, graceful.shutdown()).await;
}
