//! Examples a policy carries: a situation and the outcome its author expects.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Policy, Setting, TextOr};
use crate::boundary::Boundary;
use crate::classify::Classifier;
use crate::decision::{Handling, Outcome, Rule, Situation, StepOrHook, decide, judged};
use crate::document::{closest, listed};
use crate::tally::Totals;

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
    pub kind: StepOrHook,
    #[serde(default)]
    pub result_handling: Handling,
    #[serde(default)]
    pub totals: Totals,
    #[serde(default)]
    pub findings_since_check_in: u64,
    /// An outcome, or an outcome and the rule that must decide.
    pub expect: Expect,
}

/// One of the outcomes, or the long form.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "TextOr<Expectation>")]
pub struct Expect(Expectation);

impl TryFrom<TextOr<Expectation>> for Expect {
    type Error = String;

    fn try_from(written: TextOr<Expectation>) -> Result<Expect, String> {
        let word = match written {
            TextOr::Long(expectation) => return Ok(Expect(expectation)),
            TextOr::Text(word) => word,
        };
        let outcomes = [Outcome::Proceed, Outcome::Hold, Outcome::Stop];
        if let Some(outcome) = outcomes.into_iter().find(|outcome| outcome.name() == word) {
            return Ok(Expect(Expectation { outcome, rule: None, check_in: None }));
        }
        let names = outcomes.map(Outcome::name);
        let mut message = format!("unknown value `{word}`, expected one of {}", listed(names));
        if let Some(near) = closest(&word, names) {
            message.push_str(&format!("\nhint: did you mean `{near}`?"));
        }
        Err(message)
    }
}

impl JsonSchema for Expect {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Expect".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let outcome = generator.subschema_for::<Outcome>();
        let long = generator.subschema_for::<Expectation>();
        schemars::json_schema!({ "anyOf": [outcome, long] })
    }
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
                kind: self.kind,
                handling: self.result_handling,
                totals: self.totals,
                findings_since_check_in: self.findings_since_check_in,
            },
        );
        let rule = decision.winner().map(|reason| reason.rule());
        let Expect(wanted) = &self.expect;
        let met = wanted.outcome == decision.outcome
            && wanted.rule.is_none_or(|wanted| rule == Some(wanted))
            && wanted.check_in.is_none_or(|wanted| decision.check_in == wanted);
        if met {
            return Ok(());
        }
        let mut expected = wanted.outcome.to_string();
        if let Some(rule) = wanted.rule {
            expected.push_str(&format!(" by {rule}"));
        }
        if let Some(check_in) = wanted.check_in {
            expected.push_str(check_in_text(check_in));
        }
        let mut actual = decision.outcome.to_string();
        if wanted.check_in.is_some() {
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
