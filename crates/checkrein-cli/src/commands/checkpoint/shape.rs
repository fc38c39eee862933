//! A checkpoint as people see it, and what scripts are told by the exit code.

use std::fmt::Write;
use std::time::Duration;

use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_server::wire::checkpoint::WholeCheckpoint;
use jiff::Timestamp;
use serde_json::Value;

use crate::error::Exit;
use crate::output::harmless;

/// A checkpoint for a person.
pub fn described(whole: &WholeCheckpoint) -> String {
    let c = &whole.checkpoint;
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(out, "{name:<12}{}", harmless(value));
    };
    line("checkpoint", &c.id);
    line("status", c.status.name());
    line("worker", &c.worker);
    line("phase", &c.phase);
    line("type", &c.kind);
    line("digest", &c.digest.to_string());
    line("created", &c.created_at.to_string());
    if let Some(at) = c.expires_at.filter(|_| c.status == CheckpointStatus::Pending) {
        line("expires", &format!("{at}, then it is rejected"));
    }
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
    match (&whole.deliverable, whole.bytes()) {
        (_, Some(bytes)) => {
            let _ = writeln!(out, "({bytes} bytes that are not text)");
        }
        (Value::Null, None) => out.push_str("(its content was removed by retention)\n"),
        (Value::String(text), None) => {
            let _ = writeln!(out, "{}", harmless(text.trim_end()));
        }
        (value, None) => {
            let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
            let _ = writeln!(out, "{}", harmless(&pretty));
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
