//! What a caller sends to ask whether to push or pop.
//!
//! The field names are a fixed contract: people script against them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{FrameConfig, FrameConfigPatch};
use crate::heuristic::{self, Evaluation, PopSignals, PushSignals};

/// The question of `should-push`. A missing field is what was measured in the stored frame, else 0 or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PushRequest {
    /// The goal the new frame would have
    pub potential_goal: Option<String>,
    /// Messages since the current frame began
    pub recent_messages: Option<u64>,
    /// Files changed lately
    pub recent_file_changes: Option<Vec<String>>,
    /// Errors seen lately
    pub error_count: Option<u64>,
    /// Tokens spent in the current frame
    pub token_count: Option<u64>,
    /// The current frame, to evaluate without a stored one
    pub frame: Option<FrameInput>,
    /// Settings for this evaluation alone
    pub config: Option<FrameConfigPatch>,
}

/// The question of `should-pop`. A missing field is what was measured in the stored frame, else 0 or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PopRequest {
    /// What went well, such as "tests passing"
    pub success_signals: Option<Vec<String>>,
    /// What went wrong
    pub failure_signals: Option<Vec<String>>,
    /// Turns without progress
    pub no_progress_turns: Option<u64>,
    /// Tokens in the context now
    pub token_count: Option<u64>,
    /// Tokens the context can hold; 100000 if unknown
    pub context_limit: Option<u64>,
    /// The frame in question, to evaluate without a stored one
    pub frame: Option<FrameInput>,
    /// Settings for this evaluation alone
    pub config: Option<FrameConfigPatch>,
}

/// What the heuristics need to know of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FrameInput {
    pub goal: String,
    /// What the frame has produced, such as file names
    pub artifacts: Vec<String>,
    /// Whether there is a frame to return to; a root is never popped
    pub has_parent: bool,
}

impl Default for FrameInput {
    fn default() -> FrameInput {
        FrameInput { goal: String::new(), artifacts: Vec::new(), has_parent: true }
    }
}

/// Answers `should-push`. `config` is the resolved one: the caller has already applied
/// `request.config`, whose warnings have no place in the answer.
pub fn evaluate_push(request: &PushRequest, config: &FrameConfig) -> Evaluation {
    let signals = PushSignals {
        current_goal: request.frame.as_ref().map(|frame| frame.goal.clone()).unwrap_or_default(),
        potential_goal: request.potential_goal.clone().unwrap_or_default(),
        messages: request.recent_messages.unwrap_or_default(),
        files: request.recent_file_changes.as_ref().map_or(0, |files| files.len() as u64),
        errors: request.error_count.unwrap_or_default(),
        tokens: request.token_count.unwrap_or_default(),
    };
    heuristic::evaluate_push(&signals, config)
}

/// Answers `should-pop`. `config` is the resolved one, as for [`evaluate_push`].
pub fn evaluate_pop(request: &PopRequest, config: &FrameConfig) -> Evaluation {
    let frame = request.frame.clone().unwrap_or_default();
    let signals = PopSignals {
        goal: frame.goal,
        artifacts: frame.artifacts,
        successes: request.success_signals.clone().unwrap_or_default(),
        failures: request.failure_signals.as_ref().map_or(0, |signals| signals.len() as u64),
        no_progress_turns: request.no_progress_turns.unwrap_or_default(),
        tokens: request.token_count.unwrap_or_default(),
        context_limit: request.context_limit.unwrap_or_default(),
    };
    heuristic::evaluate_pop(&signals, frame.has_parent, config)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(patch: &Option<FrameConfigPatch>) -> FrameConfig {
        let mut config = FrameConfig::default();
        let warnings = patch.as_ref().map(|patch| config.apply(patch)).unwrap_or_default();
        assert!(warnings.is_empty(), "{warnings:?}");
        config
    }

    fn push(request: Value) -> String {
        let request: PushRequest = serde_json::from_value(request).unwrap();
        serde_json::to_string(&evaluate_push(&request, &config(&request.config))).unwrap()
    }

    fn pop(request: Value) -> String {
        let request: PopRequest = serde_json::from_value(request).unwrap();
        serde_json::to_string(&evaluate_pop(&request, &config(&request.config))).unwrap()
    }

    #[test]
    fn push_answers_in_the_documented_shape() {
        for (request, answer) in [
            (
                json!({}),
                r#"{"should":false,"confidence":0,"threshold":70,"primary_reason":"No strong signals","scores":{"failure_boundary":0,"context_switch":0,"complexity":0,"duration":0},"suggested_status":null}"#,
            ),
            (
                json!({
                    "potentialGoal": "Fix authentication bug",
                    "recentMessages": 20,
                    "recentFileChanges": ["src/auth/login.ts", "src/auth/token.ts"],
                    "errorCount": 2,
                    "frame": {"goal": "Write the release notes"},
                }),
                r#"{"should":false,"confidence":39,"threshold":70,"primary_reason":"context switch","scores":{"failure_boundary":60,"context_switch":70,"complexity":25,"duration":0},"suggested_status":null}"#,
            ),
            (
                json!({
                    "errorCount": 4,
                    "tokenCount": 60000,
                    "config": {"enabledHeuristics": ["duration", "stagnation"], "pushThreshold": 70},
                }),
                r#"{"should":true,"confidence":70,"threshold":70,"primary_reason":"duration","scores":{"duration":70},"suggested_status":null}"#,
            ),
            (
                json!({"config": {"enabledHeuristics": []}, "errorCount": 9}),
                r#"{"should":false,"confidence":0,"threshold":70,"primary_reason":"No strong signals","scores":{},"suggested_status":null}"#,
            ),
        ] {
            assert_eq!(push(request.clone()), answer, "{request}");
        }
    }

    #[test]
    fn pop_answers_in_the_documented_shape() {
        for (request, answer) in [
            (
                json!({}),
                r#"{"should":false,"confidence":0,"threshold":80,"primary_reason":"No strong signals","scores":{"goal_completion":0,"stagnation":0,"context_overflow":0},"suggested_status":"completed"}"#,
            ),
            (
                json!({"successSignals": ["tests passing", "build succeeded"], "tokenCount": 50001}),
                r#"{"should":false,"confidence":20,"threshold":80,"primary_reason":"goal completion","scores":{"goal_completion":40,"stagnation":0,"context_overflow":20},"suggested_status":"completed"}"#,
            ),
            (
                json!({
                    "failureSignals": ["a", "b", "c", "d"],
                    "noProgressTurns": 6,
                    "tokenCount": 95,
                    "contextLimit": 100,
                    "frame": {"goal": "Parse", "artifacts": ["parse.rs"], "has_parent": true},
                    "config": {"popThreshold": 70},
                }),
                r#"{"should":true,"confidence":77,"threshold":70,"primary_reason":"stagnation","scores":{"goal_completion":40,"stagnation":100,"context_overflow":90},"suggested_status":"failed"}"#,
            ),
            (
                json!({"noProgressTurns": 6, "frame": {"has_parent": false}, "config": {"popThreshold": 0}}),
                r#"{"should":false,"confidence":23,"threshold":0,"primary_reason":"stagnation","scores":{"goal_completion":0,"stagnation":70,"context_overflow":0},"suggested_status":"blocked"}"#,
            ),
        ] {
            assert_eq!(pop(request.clone()), answer, "{request}");
        }
    }

    #[test]
    fn unknown_keys_and_wrong_types_are_refused() {
        for request in [
            json!({"recent_messages": 1}),
            json!({"recentMessages": -1}),
            json!({"recentMessages": "1"}),
            json!({"frame": {"hasParent": true}}),
            json!({"config": {"lvl": "auto"}}),
        ] {
            assert!(serde_json::from_value::<PushRequest>(request.clone()).is_err(), "{request}");
        }
    }
}
