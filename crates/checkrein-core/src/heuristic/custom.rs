//! Heuristics of people's own: an expression over the signals that gives 0 to 100.
//!
//! Settings are written by people, but a project's may come with a clone, so an expression is
//! bounded, and one that fails says nothing instead of failing whoever asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expression::{Expression, Value};
use super::{Family, PopSignals, PushSignals, Score};

/// Longer ones are refused: what is parsed must not be able to use up the stack.
pub const EXPRESSION_CHARS_MAX: usize = 1000;

/// A heuristic that the settings define.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomHeuristic {
    /// Whether it argues for a push or a pop
    pub family: Family,
    /// An expression that gives a number from 0 to 100, or true or false. It knows `goal`,
    /// `tokens`, for a push `potentialGoal`, `messages`, `files` and `errors`, for a pop `artifacts`,
    /// `successes`, `failures`, `noProgressTurns` and `contextLimit`
    pub score: String,
    /// How much it weighs where scores are weighted; 1 if absent
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

impl CustomHeuristic {
    /// Why it cannot be used, if it cannot.
    pub fn fault(&self) -> Option<String> {
        if !self.weight.is_finite() || self.weight < 0.0 {
            return Some(format!("`{}` is not a weight of 0 or more", self.weight));
        }
        self.expression().err()
    }

    pub(super) fn score_push(&self, signals: &PushSignals) -> Score {
        let PushSignals { current_goal, potential_goal, messages, files, errors, tokens } = signals;
        let values = [
            text(current_goal),
            text(potential_goal),
            count(*messages),
            count(*files),
            count(*errors),
            count(*tokens),
        ];
        self.score(values.into_iter())
    }

    pub(super) fn score_pop(&self, signals: &PopSignals) -> Score {
        let PopSignals { goal, artifacts, successes, failures, no_progress_turns, tokens, context_limit } =
            signals;
        let values = [
            text(goal),
            texts(artifacts),
            texts(successes),
            count(*failures),
            count(*no_progress_turns),
            count(*tokens),
            count(*context_limit),
        ];
        self.score(values.into_iter())
    }

    fn score(&self, values: impl Iterator<Item = Value>) -> Score {
        let Ok(expression) = self.expression() else { return 0 };
        let values: Vec<(&str, Value)> = self.names().iter().copied().zip(values).collect();
        let number = match expression.evaluate(&values) {
            Some(Value::Int(number)) => number as f64,
            Some(Value::Float(number)) if !number.is_nan() => number,
            Some(Value::Bool(true)) => 100.0,
            _ => 0.0,
        };
        number.round().clamp(0.0, 100.0) as Score
    }

    /// What an expression may name, in the order in which values are handed to it.
    fn names(&self) -> &'static [&'static str] {
        match self.family {
            Family::Push => &["goal", "potentialGoal", "messages", "files", "errors", "tokens"],
            Family::Pop => {
                &["goal", "artifacts", "successes", "failures", "noProgressTurns", "tokens", "contextLimit"]
            }
        }
    }

    fn expression(&self) -> Result<Expression, String> {
        if self.score.chars().count() > EXPRESSION_CHARS_MAX {
            return Err(format!("the expression is longer than {EXPRESSION_CHARS_MAX} characters"));
        }
        Expression::parse(&self.score, self.names()).map_err(|error| format!("not an expression: {error}"))
    }
}

fn count(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn texts(all: &[String]) -> Value {
    Value::List(all.iter().map(|one| text(one)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn custom(family: Family, score: &str) -> CustomHeuristic {
        CustomHeuristic { family, score: score.to_owned(), weight: 1.0 }
    }

    #[test]
    fn expressions_over_the_signals_of_a_push() {
        let signals = PushSignals {
            current_goal: "write the docs".into(),
            potential_goal: "fix the login".into(),
            messages: 12,
            files: 4,
            errors: 3,
            tokens: u64::MAX,
        };
        for (expression, expected) in [
            ("errors * 20", 60),
            ("errors > 2 && files > 3 ? 90 : 10", 90),
            ("potentialGoal.contains('login') ? 80 : 0", 80),
            ("goal == 'write the docs'", 100),
            ("messages / 5.0 * 10.0", 24),
            ("double(messages) / 5.0 * 10.0", 24),
            ("-7", 0),
            ("1000", 100),
            ("tokens > 50000 ? 70 : 0", 70),
            ("'text'", 0),
            ("1 / 0", 0),
        ] {
            assert_eq!(custom(Family::Push, expression).score_push(&signals), expected, "{expression}");
        }
    }

    #[test]
    fn expressions_over_the_signals_of_a_pop() {
        let signals = PopSignals {
            goal: "make it pass".into(),
            artifacts: vec!["a.rs".into()],
            successes: vec!["tests passing".into(), "build ok".into()],
            failures: 1,
            no_progress_turns: 2,
            tokens: 50,
            context_limit: 100,
        };
        for (expression, expected) in [
            ("size(successes) * 30", 60),
            ("successes.exists(s, s.contains('tests')) ? 75 : 0", 75),
            ("tokens * 100 / contextLimit", 50),
            ("noProgressTurns + failures", 3),
            ("'a.rs' in artifacts", 100),
        ] {
            assert_eq!(custom(Family::Pop, expression).score_pop(&signals), expected, "{expression}");
        }
    }

    #[test]
    fn what_cannot_be_used_has_a_fault() {
        assert_eq!(custom(Family::Push, "errors * 2").fault(), None);
        for expression in
            ["errors *", "", "unknown + 1", "failures", &"(".repeat(900), &"1+".repeat(600), &"!".repeat(999)]
        {
            assert!(custom(Family::Push, expression).fault().is_some(), "{expression}");
            assert_eq!(custom(Family::Push, expression).score_push(&PushSignals::default()), 0);
        }
        let heavy = CustomHeuristic { weight: -1.0, ..custom(Family::Push, "1") };
        assert_eq!(heavy.fault().as_deref(), Some("`-1` is not a weight of 0 or more"));
    }
}
