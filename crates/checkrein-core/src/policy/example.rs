//! Examples a policy carries: a situation and the outcome its author expects.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Policy, Setting, TextOr};
use crate::boundary::Boundary;
use crate::classify::Classifier;
use crate::decision::{Actor, Handling, Outcome, Rule, Situation, TotalsShape, decide, judged};

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// What it shows.
    #[serde(default)]
    pub name: Option<String>,
    /// A boundary, or just its kind; a step if absent.
    #[serde(default)]
    pub boundary: Option<TextOr<Boundary>>,
    /// What the attempt returned.
    #[serde(default)]
    pub response: Setting<Value>,
    #[serde(default, rename = "type")]
    pub actor: Actor,
    #[serde(default)]
    pub result_handling: Handling,
    #[serde(default)]
    pub totals: TotalsShape,
    #[serde(default)]
    pub findings_since_check_in: u64,
    /// An outcome, or an outcome and the rule that must decide.
    pub expect: TextOr<Expectation>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    pub outcome: Outcome,
    #[serde(default)]
    pub rule: Option<Rule>,
    #[serde(default)]
    pub check_in: Option<bool>,
}

/// What was expected, and what the policy says instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleFailure {
    pub name: Option<String>,
    pub expected: String,
    pub actual: String,
}

impl fmt::Display for ExampleFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "example")?;
        if let Some(name) = &self.name {
            write!(f, " `{name}`")?;
        }
        write!(f, " expects {}, the policy says {}", self.expected, self.actual)
    }
}

impl Example {
    pub fn check(&self, policy: &Policy, classifier: &Classifier) -> Result<(), ExampleFailure> {
        let boundary = match &self.boundary {
            None => Boundary::default(),
            Some(TextOr::Text(kind)) => Boundary { kind: kind.clone().into(), ..Boundary::default() },
            Some(TextOr::Long(boundary)) => boundary.clone(),
        };
        let response = judged(&self.response, classifier);
        let decision = decide(
            policy,
            &Situation {
                boundary: &boundary,
                response: response.as_ref(),
                actor: self.actor,
                handling: self.result_handling,
                totals: self.totals.into(),
                findings_since_check_in: self.findings_since_check_in,
            },
        );
        let rule = decision.winner().map(|reason| reason.rule());
        let (met, expected) = match &self.expect {
            TextOr::Text(outcome) => (outcome == decision.outcome.name(), outcome.clone()),
            TextOr::Long(wanted) => {
                let met = wanted.outcome == decision.outcome
                    && wanted.rule.is_none_or(|wanted| rule == Some(wanted))
                    && wanted.check_in.is_none_or(|wanted| decision.check_in == wanted);
                let mut text = wanted.outcome.to_string();
                if let Some(rule) = wanted.rule {
                    text.push_str(&format!(" by {rule}"));
                }
                if let Some(check_in) = wanted.check_in {
                    text.push_str(check_in_text(check_in));
                }
                (met, text)
            }
        };
        if met {
            return Ok(());
        }
        let mut actual = decision.outcome.to_string();
        if matches!(&self.expect, TextOr::Long(Expectation { check_in: Some(_), .. })) {
            actual.push_str(check_in_text(decision.check_in));
        }
        if let Some(winner) = decision.winner() {
            actual.push_str(&format!(" by {}: {winner}", winner.rule()));
        }
        Err(ExampleFailure { name: self.name.clone(), expected, actual })
    }
}

fn check_in_text(check_in: bool) -> &'static str {
    if check_in { " with a check-in" } else { " without a check-in" }
}
