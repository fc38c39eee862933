//! What an attempt came to: its result as the agent wrote it, or what its end says (X8).

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use checkrein_core::classify::Classifier;
use checkrein_core::duration::Written;
use checkrein_core::response::Response;
use checkrein_core::run::job::{AgentOutcome, AgentResult, JobDefinition};
use serde_json::{Map, Value, json};

use crate::process::{Ended, Exit, Why, last_line};

pub(super) struct Outcome {
    pub result: AgentResult,
    pub response: Response,
}

const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
const RESULT_BYTES_MAX: u64 = 16 << 20;

/// Reads the result; `clean` takes secrets out of whatever the agent wrote.
pub(super) fn outcome(
    definition: &JobDefinition,
    ended: &Ended,
    result_file: &Path,
    stderr: &Path,
    classifier: &Classifier,
    clean: impl FnOnce(&mut Value),
) -> Outcome {
    let failed = |reason: String| Outcome {
        result: AgentResult { outcome: AgentOutcome::Failed, ..AgentResult::default() },
        response: Response::failure(reason),
    };
    let timed_out = |what: &str, time: Option<std::time::Duration>| {
        let time = time.map(|time| Written(time).to_string()).unwrap_or_default();
        failed(format!("The agent timed out: {what} {time}"))
    };
    match &ended.why {
        Why::SpawnFailed { reason } => return failed(format!("The agent cannot be started: {reason}")),
        Why::WallTimeout => return timed_out("it took longer than", definition.timeout),
        Why::IdleTimeout => return timed_out("it was silent for", definition.idle_timeout),
        Why::Exited | Why::Stopped => {}
    }
    let value = match read(result_file) {
        Ok(Some(mut value)) => {
            clean(&mut value);
            value
        }
        Ok(None) => Value::Object(Map::new()),
        Err(reason) => return failed(reason),
    };
    let (mut result, odd) = AgentResult::read(&value);
    let fields = |name: &str| value.get(name).cloned().unwrap_or_default();
    let judged = json!({
        "message": result.summary, "warnings": fields("warnings"), "errors": fields("errors"),
    });
    let mut response = Response::normalise(&judged, classifier);
    response.artifacts = result.deliverables.iter().map(|path| Value::String(path.clone())).collect();
    // What makes it a failure is said as one.
    let unreadable = AgentResult::is_unreadable(&value).then(|| odd.first().cloned()).flatten();
    odd.into_iter().filter(|text| unreadable.as_ref() != Some(text)).for_each(|text| response.warn(text));
    if ended.exit != Some(Exit::Code(0)) {
        let how = match ended.exit {
            Some(Exit::Code(code)) => format!("The agent exited with code {code}"),
            Some(Exit::Signal(signal)) => format!("The agent was ended by signal {signal}"),
            None => "The agent ended in an unknown way".to_owned(),
        };
        result.outcome = AgentOutcome::Failed;
        response.fail(match last_line(stderr) {
            Some(line) => format!("{how}: {line}"),
            None => how,
        });
    } else if result.outcome == AgentOutcome::Failed {
        response.fail(match unreadable {
            Some(why) => sentence(&why),
            None if result.summary.is_empty() => "The agent says that it failed".to_owned(),
            None => result.summary.clone(),
        });
    }
    Outcome { result, response }
}

/// With a capital letter, as what ends a run is written.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What an agent wrote, which may be anything at all.
pub(super) fn read(path: &Path) -> Result<Option<Value>, String> {
    let unreadable = |why: String| format!("The agent's result cannot be read: {why}");
    // Without waiting: a pipe in the place of the file would never be opened from its other end.
    let flags = NONBLOCK | rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = match std::fs::File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err(unreadable("it is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(RESULT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > RESULT_BYTES_MAX {
        return Err(unreadable(format!("it is larger than {} MiB", RESULT_BYTES_MAX >> 20)));
    }
    let text = String::from_utf8_lossy(&bytes);
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&text).map(Some).map_err(|error| format!("The agent's result is not JSON: {error}"))
}
