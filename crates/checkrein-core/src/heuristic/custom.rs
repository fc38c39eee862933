//! Heuristics of people's own: an expression of CEL over the signals that gives 0 to 100.
//!
//! Settings are written by people, but a project's may come with a clone, so an expression is
//! bounded, and one that fails says nothing instead of failing whoever asked.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cel::{Context, Program, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Family, PopSignals, PushSignals, Score};

/// Longer ones are refused: what is parsed must not be able to use up the stack.
pub const EXPRESSION_CHARS_MAX: usize = 1000;

/// A heuristic that the settings define.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomHeuristic {
    /// Whether it argues for a push or a pop
    pub family: Family,
    /// An expression of CEL that gives a number from 0 to 100, or true or false. It knows `goal`,
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
        self.program().err()
    }

    pub(super) fn score_push(&self, signals: &PushSignals) -> Score {
        let PushSignals { current_goal, potential_goal, messages, files, errors, tokens } = signals;
        self.score(&[
            ("goal", current_goal.as_str().into()),
            ("potentialGoal", potential_goal.as_str().into()),
            ("messages", count(*messages)),
            ("files", count(*files)),
            ("errors", count(*errors)),
            ("tokens", count(*tokens)),
        ])
    }

    pub(super) fn score_pop(&self, signals: &PopSignals) -> Score {
        let PopSignals { goal, artifacts, successes, failures, no_progress_turns, tokens, context_limit } =
            signals;
        self.score(&[
            ("goal", goal.as_str().into()),
            ("artifacts", artifacts.clone().into()),
            ("successes", successes.clone().into()),
            ("failures", count(*failures)),
            ("noProgressTurns", count(*no_progress_turns)),
            ("tokens", count(*tokens)),
            ("contextLimit", count(*context_limit)),
        ])
    }

    fn score(&self, variables: &[(&str, Value)]) -> Score {
        let Ok(program) = self.program() else { return 0 };
        let value = guarded(|| {
            let mut context = Context::default();
            for (name, value) in variables {
                context.add_variable_from_value(*name, value.clone());
            }
            program.execute(&context).ok()
        });
        let number = match value.flatten() {
            Some(Value::Int(number)) => number as f64,
            Some(Value::UInt(number)) => number as f64,
            Some(Value::Float(number)) if !number.is_nan() => number,
            Some(Value::Bool(true)) => 100.0,
            _ => 0.0,
        };
        number.round().clamp(0.0, 100.0) as Score
    }

    fn program(&self) -> Result<Program, String> {
        if self.score.chars().count() > EXPRESSION_CHARS_MAX {
            return Err(format!("the expression is longer than {EXPRESSION_CHARS_MAX} characters"));
        }
        let depth = self.score.chars().filter(|c| "([{!-?".contains(*c)).count();
        if depth > DEPTH_MAX {
            return Err(format!("the expression has more than {DEPTH_MAX} brackets and signs"));
        }
        match guarded(|| Program::compile(&self.score)) {
            Some(Ok(program)) => Ok(program),
            Some(Err(error)) => {
                let words = error.to_string();
                Err(format!("not an expression: {}", words.split_whitespace().collect::<Vec<_>>().join(" ")))
            }
            None => Err("not an expression".to_owned()),
        }
    }
}

/// The parser descends once for each of these.
const DEPTH_MAX: usize = 100;

/// Somebody else's parser and interpreter: should they break off, nothing else does.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

fn count(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
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
            ("messages / 5.0 * 10.0", 0),
            ("double(messages) / 5.0 * 10.0", 24),
            ("-7", 0),
            ("1000", 100),
            ("tokens > 50000 ? 70 : 0", 70),
            ("'text'", 0),
            ("unknown + 1", 0),
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
        for expression in ["errors *", "", &"(".repeat(900), &"1+".repeat(600), &"!".repeat(999)] {
            assert!(custom(Family::Push, expression).fault().is_some(), "{expression}");
            assert_eq!(custom(Family::Push, expression).score_push(&PushSignals::default()), 0);
        }
        let heavy = CustomHeuristic { weight: -1.0, ..custom(Family::Push, "1") };
        assert_eq!(heavy.fault().as_deref(), Some("`-1` is not a weight of 0 or more"));
    }
}
