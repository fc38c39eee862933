//! What the server does, in numbers Prometheus reads.

use std::sync::atomic::AtomicI64;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    method: String,
    route: String,
}

#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    seconds: Family<Asked, Histogram, fn() -> Histogram>,
    connections: Gauge<i64, AtomicI64>,
    listeners: Gauge<i64, AtomicI64>,
    pending: Gauge<i64, AtomicI64>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let mut registry = Registry::with_prefix("checkrein");
        let requests = Family::default();
        registry.register("http_requests", "Requests that were answered", requests.clone());
        let seconds: Family<Asked, Histogram, fn() -> Histogram> = Family::new_with_constructor(|| {
            Histogram::new([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 30.0])
        });
        let about = "How long requests took until their answer began";
        registry.register("http_request_duration_seconds", about, seconds.clone());
        let [connections, listeners, pending] = [Gauge::default(), Gauge::default(), Gauge::default()];
        registry.register("http_connections", "Connections that are open", connections.clone());
        registry.register("event_listeners", "Streams of events that are open", listeners.clone());
        registry.register("checkpoints_pending", "Checkpoints that wait for a person", pending.clone());
        Metrics { registry, requests, seconds, connections, listeners, pending }
    }
}

impl Metrics {
    pub fn answered(&self, method: &Method, route: &str, status: StatusCode, took: Duration) {
        // Methods come from outside; any text may be one.
        let known = [Method::GET, Method::HEAD, Method::POST, Method::DELETE, Method::OPTIONS];
        let method = if known.contains(method) { method.to_string() } else { "other".to_owned() };
        let route = route.to_owned();
        let asked = Asked { method: method.clone(), route: route.clone() };
        self.requests.get_or_create(&Answered { method, route, status: status.as_u16() }).inc();
        self.seconds.get_or_create(&asked).observe(took.as_secs_f64());
    }

    /// Counted until it is dropped.
    pub fn connection(&self) -> Counted {
        Counted::new(&self.connections)
    }

    /// Counted until it is dropped.
    pub fn listener(&self) -> Counted {
        Counted::new(&self.listeners)
    }

    pub fn written(&self, pending: u64) -> Option<String> {
        self.pending.set(i64::try_from(pending).unwrap_or(i64::MAX));
        let mut text = String::new();
        encode(&mut text, &self.registry).ok()?;
        Some(text)
    }
}

/// One of something that is open.
#[derive(Debug)]
pub struct Counted(Gauge<i64, AtomicI64>);

impl Counted {
    fn new(gauge: &Gauge<i64, AtomicI64>) -> Counted {
        gauge.inc();
        Counted(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}
