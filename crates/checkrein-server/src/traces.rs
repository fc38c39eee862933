//! Traces for OpenTelemetry, where its standard variables name a collector.
//!
//! A request is a span, below the one it says it belongs to. Each time a worker goes on with a run is a span with
//! its attempts below it, and all of one run are one trace, whoever goes on with it and whenever.

use std::time::{Duration, SystemTime};

use axum::http::{HeaderMap, Method, StatusCode};
use checkrein_core::response::Status;
use checkrein_core::run::{Attempt, Run, RunEvent, RunId};
use checkrein_engine::{EngineError, Rest, Watch, WatchWork};
use jiff::Timestamp;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{
    Span as _, SpanContext, SpanId, SpanKind, Status as SpanStatus, TraceContextExt, TraceFlags, TraceId,
    TraceState, Tracer, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};
use sha2::{Digest, Sha256};

/// Where spans go.
#[derive(Clone, Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

const NAME: &str = "checkrein";
/// Nobody waits longer for a collector that does not answer.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Whether the variables ask for traces that we can send.
fn asked_for(variable: impl Fn(&str) -> Option<String>) -> Result<bool, String> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if set("OTEL_SDK_DISABLED").is_some_and(|value| value.trim().eq_ignore_ascii_case("true")) {
        return Ok(false);
    }
    let named = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
    let asked = match set("OTEL_TRACES_EXPORTER").as_deref().map(str::trim) {
        None => named.iter().any(|name| set(name).is_some()),
        Some("none") => false,
        Some("otlp") => true,
        Some(other) => return Err(format!("OTEL_TRACES_EXPORTER is `{other}`; there is `otlp` and `none`")),
    };
    let protocol = set("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL").or_else(|| set("OTEL_EXPORTER_OTLP_PROTOCOL"));
    match protocol.as_deref().map(str::trim) {
        Some(other) if asked && other != "http/protobuf" => {
            Err(format!("the protocol of OTLP is `{other}`; there is `http/protobuf`"))
        }
        _ => Ok(asked),
    }
}

impl Traces {
    /// None where nobody asks for any.
    pub fn start() -> Result<Option<Traces>, String> {
        if !asked_for(|name| std::env::var(name).ok())? {
            return Ok(None);
        }
        // Whoever set another one up was first, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let exporter = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build();
        let exporter = exporter.map_err(|error| format!("traces cannot be sent: {error}"))?;
        let named = std::env::var("OTEL_SERVICE_NAME").is_ok_and(|name| !name.trim().is_empty());
        let resource = Resource::builder();
        let resource = if named { resource } else { resource.with_service_name(NAME) };
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.with_attribute(version).build())
            .build();
        let tracer = provider.tracer(NAME);
        Ok(Some(Traces { provider, tracer }))
    }

    /// Sends what was not sent yet. Blocks for a moment.
    pub fn end(&self) {
        // A collector that is gone is nobody's trouble but its own.
        let _ = self.provider.shutdown_with_timeout(LAST_WORDS);
    }

    /// A request begins.
    pub fn request(&self, method: &Method, route: &'static str, headers: &HeaderMap) -> Span {
        let above = TraceContextPropagator::new().extract_with_context(&Context::new(), &Headers(headers));
        let attributes =
            [KeyValue::new("http.request.method", method.to_string()), KeyValue::new("http.route", route)];
        let builder = self.tracer.span_builder(format!("{method} {route}"));
        builder
            .with_kind(SpanKind::Server)
            .with_attributes(attributes)
            .start_with_context(&self.tracer, &above)
    }
}

/// A request ends.
pub fn answered(mut span: Span, status: StatusCode) {
    span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
    if status.is_server_error() {
        span.set_attribute(KeyValue::new("error.type", status.as_u16().to_string()));
        span.set_status(SpanStatus::error(""));
    }
    span.end();
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(|key| key.as_str()).collect()
    }
}

/// Watches, and makes spans of what it sees where somebody wants them.
pub struct Traced<W> {
    traces: Option<Traces>,
    inner: W,
    run: Option<Context>,
}

impl<W: WatchWork> Traced<W> {
    pub fn new(traces: Option<Traces>, inner: W) -> Traced<W> {
        Traced { traces, inner, run: None }
    }
}

impl<W: Watch> Watch for Traced<W> {
    fn event(&mut self, run: &Run, seq: u64, at: Timestamp, event: &RunEvent) {
        if let (Some(traces), Some(context)) = (&self.traces, &self.run) {
            match event {
                RunEvent::AttemptFinished(attempt) => traces.attempt(context, attempt),
                RunEvent::RunHeld { reason, .. } => {
                    let about = vec![KeyValue::new("checkrein.reason", reason.clone())];
                    context.span().add_event("held", about);
                }
                _ => {}
            }
        }
        self.inner.event(run, seq, at, event);
    }

    fn warn(&mut self, text: String) {
        self.inner.warn(text);
    }
}

impl<W: WatchWork> WatchWork for Traced<W> {
    fn goes_on(&mut self, run: &RunId) {
        if let Some(Traces { tracer, .. }) = &self.traces {
            let span = tracer.span_builder("run").with_kind(SpanKind::Internal);
            let span = span.with_attributes([KeyValue::new("checkrein.run.id", run.to_string())]);
            let above = trace_of(run);
            let span = span.start_with_context(tracer, &above);
            self.run = Some(above.with_span(span));
        }
        self.inner.goes_on(run);
    }

    fn rests(&mut self, run: &Run, rest: &Rest) {
        if let Some(context) = self.run.take() {
            let span = context.span();
            span.update_name(format!("run {}", run.definition.plan.workflow));
            span.set_attribute(KeyValue::new("checkrein.run.status", run.state.status_word()));
            span.end();
        }
        self.inner.rests(run, rest);
    }

    fn failed(&mut self, run: &RunId, error: &EngineError) {
        if let Some(context) = self.run.take() {
            context.span().set_status(SpanStatus::error(error.to_string()));
            context.span().end();
        }
        self.inner.failed(run, error);
    }
}

impl Traces {
    fn attempt(&self, above: &Context, attempt: &Attempt) {
        let (warnings, errors) = (attempt.response.warnings.len(), attempt.response.errors.len());
        let mut attributes = vec![
            KeyValue::new("checkrein.task", attempt.task.clone()),
            KeyValue::new("checkrein.attempt", i64::from(attempt.attempt)),
            KeyValue::new("checkrein.warnings", i64::try_from(warnings).unwrap_or(i64::MAX)),
            KeyValue::new("checkrein.errors", i64::try_from(errors).unwrap_or(i64::MAX)),
        ];
        attributes.extend(attempt.exit_code.map(|code| KeyValue::new("process.exit.code", i64::from(code))));
        let begun = SystemTime::from(attempt.started_at);
        let builder = self.tracer.span_builder(format!("attempt {}", attempt.task)).with_start_time(begun);
        let mut span = builder.with_attributes(attributes).start_with_context(&self.tracer, above);
        if attempt.response.status == Status::Failure {
            span.set_status(SpanStatus::error(attempt.response.message.clone().unwrap_or_default()));
        }
        span.end_with_timestamp(begun + Duration::from_millis(attempt.duration_ms));
    }
}

/// One trace for a run, by its id alone.
fn trace_of(run: &RunId) -> Context {
    let digest = Sha256::digest(run.as_str().as_bytes());
    let mut bytes = digest.iter().copied();
    let trace: [u8; 16] = std::array::from_fn(|_| bytes.next().unwrap_or(1));
    let span: [u8; 8] = std::array::from_fn(|_| bytes.next().unwrap_or(1));
    let (trace, span) = (TraceId::from_bytes(trace), SpanId::from_bytes(span));
    let above = SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default());
    Context::new().with_remote_span_context(above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_traces() {
        type Row<'a> = (&'a [(&'a str, &'a str)], Result<bool, &'a str>);
        let rows: [Row<'_>; 8] = [
            (&[], Ok(false)),
            (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318")], Ok(true)),
            (&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://localhost:4318/v1/traces")], Ok(true)),
            (&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")], Ok(false)),
            (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x"), ("OTEL_SDK_DISABLED", "TRUE")], Ok(false)),
            (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x"), ("OTEL_TRACES_EXPORTER", "none")], Ok(false)),
            (&[("OTEL_TRACES_EXPORTER", "zipkin")], Err("zipkin")),
            (&[("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], Err("grpc")),
        ];
        for (set, expected) in rows {
            let found = asked_for(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            });
            match expected {
                Ok(asked) => assert_eq!(found, Ok(asked), "{set:?}"),
                Err(word) => assert!(found.is_err_and(|text| text.contains(word)), "{set:?}"),
            }
        }
    }

    #[test]
    fn a_run_is_one_trace_for_ever() {
        let of = |id: &str| trace_of(&RunId::new(id)).span().span_context().trace_id();
        assert_eq!(of("20260301-120000-7kq2m"), of("20260301-120000-7kq2m"));
        assert_ne!(of("20260301-120000-7kq2m"), of("20260301-120000-7kq2n"));
    }
}
