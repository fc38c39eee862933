//! `policy decide` on the wire: a fixed contract people script against.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Decision, Handling, LimitReached, Outcome, Rule, Situation, Sorted, StepOrHook};
use crate::boundary::Boundary;
use crate::classify::Classifier;
use crate::document::{Document, Format, Gravity, Problems, decode};
use crate::finding::Finding;
use crate::policy::{
    Autonomy, Block, Layer, LayerRank, OnLimit, Origin, Policy, Reading, Resolution, Scope, Setting,
};
use crate::response::Response;
use crate::tally::Totals;

/// Only scope and boundary are required.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub scope: Scope,
    /// A level's name or a block; absent is the scope's default.
    #[serde(default)]
    pub autonomy: Option<Autonomy>,
    pub boundary: Boundary,
    #[serde(default, rename = "type")]
    pub kind: StepOrHook,
    /// Absent is nothing to judge, null is a null result.
    #[serde(default)]
    pub response: Setting<Value>,
    #[serde(default)]
    pub result_handling: Handling,
    /// Before this response.
    #[serde(default)]
    pub totals: Totals,
    /// Before this response.
    #[serde(default)]
    pub findings_since_check_in: u64,
}

/// The response in a request: absent is none, null is a null result.
pub(crate) fn judged(response: &Setting<Value>, classifier: &Classifier) -> Option<Response> {
    match response {
        Setting::Absent => None,
        Setting::Clear => Some(Response::judged(&Value::Null, classifier)),
        Setting::Set(value) => Some(Response::judged(value, classifier)),
    }
}

impl Request {
    /// Reads a request and resolves the policy it speaks of. It reads the request alone: no files,
    /// no environment.
    pub fn parse(name: &str, text: &str) -> Result<(Request, Resolution), Problems> {
        let document = Arc::new(Document::parse(name, text, Format::Json)?);
        let (request, _) = decode::<Request>(&document, Gravity::Error)?;
        let block = request.autonomy.clone().map(Block::of).unwrap_or_default();
        let origin = Origin::within(&document, &["autonomy"]);
        let layer = Layer { rank: LayerRank::Start, origin, block };
        let resolution =
            Resolution::resolve(request.scope, [&layer], Classifier::builtin(), Reading::Coercing)?;
        Ok((request, resolution))
    }

    /// Asks the policy this request speaks of.
    pub fn answer(&self, policy: &Policy) -> Answer {
        let classifier = Classifier::builtin();
        let response = judged(&self.response, classifier);
        let decision = super::decide(
            policy,
            &Situation {
                boundary: &self.boundary,
                response: response.as_ref(),
                kind: self.kind,
                handling: self.result_handling,
                totals: self.totals,
                findings_since_check_in: self.findings_since_check_in,
            },
        );
        let notes = response.as_ref().map(|response| response.notes.clone()).unwrap_or_default();
        Answer { notes, ..Answer::of(&decision) }
    }
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    pub outcome: Outcome,
    /// The winning rule's text; empty on proceed.
    pub reason: String,
    pub rule: Option<Rule>,
    pub because: Vec<Because>,
    pub check_in: bool,
    pub collected: ByKind<Vec<Finding>>,
    pub exceeding: ByKind<Vec<Finding>>,
    pub totals: Totals,
    pub truncated: ByKind<usize>,
    pub limits_reached: LimitsReached,
    /// What had to be coerced in the response; said beside the answer, not in it.
    #[serde(skip)]
    pub notes: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Because {
    pub rule: Rule,
    pub text: String,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct ByKind<T> {
    pub warnings: T,
    pub errors: T,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitsReached {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_total_warnings: Option<Reached>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_total_errors: Option<Reached>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reached {
    pub limit: u64,
    pub actual: u64,
    pub action: LimitAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LimitAction {
    Stop,
    Truncated,
}

impl LimitsReached {
    pub fn of(decision: &Decision<'_>) -> LimitsReached {
        LimitsReached {
            max_total_warnings: decision.warnings.limit.map(Reached::from),
            max_total_errors: decision.errors.limit.map(Reached::from),
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.max_total_warnings.is_none() && self.max_total_errors.is_none()
    }
}

impl From<LimitReached> for Reached {
    fn from(reached: LimitReached) -> Reached {
        let action = match reached.action {
            OnLimit::Stop => LimitAction::Stop,
            OnLimit::Truncate => LimitAction::Truncated,
        };
        Reached { limit: reached.limit, actual: reached.actual, action }
    }
}

impl Answer {
    pub fn of(decision: &Decision<'_>) -> Answer {
        let both = |list: fn(Sorted<'_>) -> Vec<Finding>| ByKind {
            warnings: list(decision.warnings),
            errors: list(decision.errors),
        };
        let winner = decision.winner();
        Answer {
            outcome: decision.outcome,
            reason: winner.map(ToString::to_string).unwrap_or_default(),
            rule: winner.map(|reason| reason.rule()),
            because: decision
                .because
                .iter()
                .map(|reason| Because { rule: reason.rule(), text: reason.to_string() })
                .collect(),
            check_in: decision.check_in,
            collected: both(|sorted| sorted.collected().cloned().collect()),
            exceeding: both(|sorted| sorted.exceeding().cloned().collect()),
            totals: decision.totals,
            truncated: ByKind {
                warnings: decision.warnings.truncated(),
                errors: decision.errors.truncated(),
            },
            limits_reached: LimitsReached::of(decision),
            notes: Vec::new(),
        }
    }
}
