//! A checkpoint as programs and people see it.

use std::fmt::Write;
use std::time::Duration;

use base64::Engine as _;
use checkrein_core::checkpoint::{Checkpoint, CheckpointStatus};
use checkrein_core::deliverable::{Deliverable, Digest};
use checkrein_engine::CheckpointView;
use jiff::Timestamp;
use serde::Serialize;

use crate::error::Exit;
use crate::output::harmless;

/// The fixed contract. `worker_name` and `rejection_reason` are names other tools know.
#[derive(Serialize)]
pub struct CheckpointJson<'c> {
    id: &'c str,
    status: CheckpointStatus,
    worker: &'c str,
    worker_name: &'c str,
    phase: &'c str,
    #[serde(rename = "type")]
    kind: &'c str,
    digest: Digest,
    created_at: Timestamp,
    resolved_at: Option<Timestamp>,
    reason: Option<&'c str>,
    rejection_reason: &'c str,
    resolved_by: Option<&'c str>,
}

impl<'c> From<&'c Checkpoint> for CheckpointJson<'c> {
    fn from(checkpoint: &'c Checkpoint) -> CheckpointJson<'c> {
        let reason = checkpoint.reason.as_deref();
        let rejected = checkpoint.status == CheckpointStatus::Rejected;
        CheckpointJson {
            id: checkpoint.id.as_str(),
            status: checkpoint.status,
            worker: &checkpoint.worker,
            worker_name: &checkpoint.worker,
            phase: &checkpoint.phase,
            kind: &checkpoint.kind,
            digest: checkpoint.digest,
            created_at: checkpoint.created_at,
            resolved_at: checkpoint.resolved_at,
            reason,
            rejection_reason: reason.filter(|_| rejected).unwrap_or(""),
            resolved_by: checkpoint.resolved_by.as_deref(),
        }
    }
}

/// The same with what it is about.
pub fn whole(view: &CheckpointView) -> serde_json::Value {
    let mut json = serde_json::to_value(CheckpointJson::from(&view.checkpoint)).unwrap_or_default();
    let deliverable = match view.content.as_ref().map(|content| content.deliverable()) {
        None => serde_json::Value::Null,
        Some(Deliverable::Text(text)) => text.into(),
        Some(Deliverable::Json(value)) => value,
        Some(Deliverable::Bytes(bytes)) => {
            serde_json::json!({"base64": base64::prelude::BASE64_STANDARD.encode(bytes)})
        }
    };
    if let Some(map) = json.as_object_mut() {
        map.insert("deliverable".to_owned(), deliverable);
        map.insert("round".to_owned(), view.checkpoint.round.into());
        map.insert("comments".to_owned(), serde_json::json!([]));
    }
    json
}

/// The same for a person.
pub fn described(view: &CheckpointView) -> String {
    let c = &view.checkpoint;
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(out, "{name:<12}{}", harmless(value));
    };
    line("checkpoint", c.id.as_str());
    line("status", c.status.name());
    line("worker", &c.worker);
    line("phase", &c.phase);
    line("type", &c.kind);
    line("digest", &c.digest.to_string());
    line("created", &c.created_at.to_string());
    if let Some(at) = c.resolved_at {
        line("resolved", &at.to_string());
    }
    if let Some(by) = &c.resolved_by {
        line("by", by);
    }
    if let Some(reason) = &c.reason {
        line("reason", reason);
    }
    out.push('\n');
    match view.content.as_ref().map(|content| content.deliverable()) {
        None => out.push_str("(its content was removed by retention)\n"),
        Some(Deliverable::Text(text)) => {
            let _ = writeln!(out, "{}", harmless(text.trim_end()));
        }
        Some(Deliverable::Json(value)) => {
            let pretty = serde_json::to_string_pretty(&value).unwrap_or_default();
            let _ = writeln!(out, "{}", harmless(&pretty));
        }
        Some(Deliverable::Bytes(bytes)) => {
            let _ = writeln!(out, "({} bytes that are not text)", bytes.len());
        }
    }
    out
}

/// What a waiting script is told by the exit code.
pub const fn exit(status: CheckpointStatus) -> Exit {
    match status {
        CheckpointStatus::Approved | CheckpointStatus::NotRequired => Exit::Done,
        CheckpointStatus::Pending => Exit::Held,
        CheckpointStatus::Rejected | CheckpointStatus::ChangesRequested | CheckpointStatus::Withdrawn => {
            Exit::Rejected
        }
    }
}

/// How long ago, in one word.
pub fn age(then: Timestamp) -> String {
    let past = Duration::try_from(checkrein_engine::now().duration_since(then)).unwrap_or_default();
    let seconds = past.as_secs();
    let (count, unit) = match seconds {
        0..10 => return "now".to_owned(),
        10..60 => (seconds, "s"),
        60..3_600 => (seconds / 60, "m"),
        3_600..86_400 => (seconds / 3_600, "h"),
        _ => (seconds / 86_400, "d"),
    };
    format!("{count}{unit}")
}
