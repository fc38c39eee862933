//! What an attempt came to: its result as the agent wrote it, or what its end says (X8).

use std::path::Path;

use checkrein_core::classify::Classifier;
use checkrein_core::duration::Written;
use checkrein_core::response::Response;
use checkrein_core::run::job::{AgentOutcome, AgentResult, JobDefinition, LeftOut, bound};
use serde_json::{Map, Value, json};

use crate::agent_dir::AgentFile;
use crate::process::{Ended, Exit, Why, last_words};

pub(super) struct Outcome {
    pub result: AgentResult,
    pub response: Response,
}

const RESULT_BYTES_MAX: u64 = 16 << 20;

impl Outcome {
    /// Of an agent that wrote more than it may.
    pub fn oversized(text: String) -> Outcome {
        let response = Response::normalise(&json!({}), Classifier::builtin());
        let mut outcome = Outcome { result: AgentResult::default(), response };
        outcome.block(text);
        outcome
    }

    /// A person has to look before the job goes on: a finding, and the job pauses. What failed stays failed.
    pub fn block(&mut self, text: String) {
        if self.result.outcome != AgentOutcome::Failed {
            self.result.outcome = AgentOutcome::Blocked;
            self.result.summary.clone_from(&text);
        }
        self.response.warn(text);
    }
}

/// Reads the result; `said` is what a named agent says about its failure, and where the output of any is. `clean` takes
/// secrets out of whatever the agent wrote.
pub(super) fn outcome(
    definition: &JobDefinition,
    ended: &Ended,
    result_file: &AgentFile,
    (said, stderr): (Option<&str>, &Path),
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
    let (value, left_out) = match read(result_file) {
        Ok(Some(mut value)) => {
            // Half of a secret would not be known as one.
            clean(&mut value);
            let left_out = bound(&mut value);
            (value, left_out)
        }
        Ok(None) => (Value::Object(Map::new()), LeftOut::default()),
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
        response.fail(match said.map(str::to_owned).or_else(|| last_words(stderr)) {
            Some(words) => format!("{how}: {words}"),
            None => how,
        });
    } else if result.outcome == AgentOutcome::Failed {
        response.fail(match unreadable {
            Some(why) => sentence(&why),
            None if result.summary.is_empty() => "The agent says that it failed".to_owned(),
            None => result.summary.clone(),
        });
    }
    let mut outcome = Outcome { result, response };
    for text in left_out.told {
        // What was not looked at must not be why it goes on.
        if left_out.findings { outcome.block(text) } else { outcome.response.warn(text) }
    }
    outcome
}

/// With a capital letter, as what ends a run is written.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What an agent wrote, which may be anything at all.
pub(super) fn read(file: &AgentFile) -> Result<Option<Value>, String> {
    let unreadable = |error: std::io::Error| format!("The agent's result cannot be read: {error}");
    let Some(bytes) = file.read(RESULT_BYTES_MAX).map_err(unreadable)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&text).map(Some).map_err(|error| format!("The agent's result is not JSON: {error}"))
}
