//! The seven heuristics that say when a frame should be pushed or popped.
//!
//! Each heuristic is one file: what it looks for, the function, its table. A heuristic sees plain
//! signals and answers with a score from 0 to 100. What the scores mean together is
//! the business of an [`Evaluation`].

mod complexity;
mod context_overflow;
mod context_switch;
mod custom;
mod duration;
mod evaluate;
mod expression;
mod failure_boundary;
mod goal_completion;
mod keyword;
mod stagnation;
mod suggested_status;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::custom::{CustomHeuristic, EXPRESSION_CHARS_MAX};
pub use self::evaluate::{
    Aggregation, Evaluation, PrimaryReason, Scores, ceiling, evaluate_pop, evaluate_push,
};
pub use self::keyword::keywords;

/// A heuristic's opinion: 0 is "no sign of it", 100 is "certainly".
pub type Score = u8;

/// Every heuristic there is, in the order in which scores are shown and ties are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Heuristic {
    FailureBoundary,
    ContextSwitch,
    Complexity,
    Duration,
    GoalCompletion,
    Stagnation,
    ContextOverflow,
}

/// The two moves on the frame tree that heuristics argue for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    Push,
    Pop,
}

impl Heuristic {
    pub const ALL: [Heuristic; 7] = [
        Heuristic::FailureBoundary,
        Heuristic::ContextSwitch,
        Heuristic::Complexity,
        Heuristic::Duration,
        Heuristic::GoalCompletion,
        Heuristic::Stagnation,
        Heuristic::ContextOverflow,
    ];

    /// The name used in settings and answers.
    pub fn name(self) -> &'static str {
        match self {
            Heuristic::FailureBoundary => "failure_boundary",
            Heuristic::ContextSwitch => "context_switch",
            Heuristic::Complexity => "complexity",
            Heuristic::Duration => "duration",
            Heuristic::GoalCompletion => "goal_completion",
            Heuristic::Stagnation => "stagnation",
            Heuristic::ContextOverflow => "context_overflow",
        }
    }

    pub fn from_name(name: &str) -> Option<Heuristic> {
        Heuristic::ALL.into_iter().find(|heuristic| heuristic.name() == name)
    }

    pub fn family(self) -> Family {
        match self {
            Heuristic::FailureBoundary
            | Heuristic::ContextSwitch
            | Heuristic::Complexity
            | Heuristic::Duration => Family::Push,
            Heuristic::GoalCompletion | Heuristic::Stagnation | Heuristic::ContextOverflow => Family::Pop,
        }
    }

    /// The greatest score this heuristic can ever give, which bounds what a threshold can ask for.
    pub fn max_score(self) -> Score {
        match self {
            Heuristic::FailureBoundary => failure_boundary::MAX,
            Heuristic::ContextSwitch => context_switch::MAX,
            Heuristic::Complexity => complexity::MAX,
            Heuristic::Duration => duration::MAX,
            Heuristic::GoalCompletion => goal_completion::MAX,
            Heuristic::Stagnation => stagnation::MAX,
            Heuristic::ContextOverflow => context_overflow::MAX,
        }
    }
}

impl fmt::Display for Heuristic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known when somebody asks whether to push. Unknown counts are 0, unknown goals empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushSignals {
    pub current_goal: String,
    pub potential_goal: String,
    pub messages: u64,
    pub files: u64,
    pub errors: u64,
    pub tokens: u64,
}

/// What is known when somebody asks whether to pop. Unknown counts are 0, unknown texts empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PopSignals {
    pub goal: String,
    pub artifacts: Vec<String>,
    pub successes: Vec<String>,
    pub failures: u64,
    pub no_progress_turns: u64,
    pub tokens: u64,
    /// 0 means unknown; the heuristic then assumes a usual limit.
    pub context_limit: u64,
}

/// Points of the first band whose bound `value` exceeds; bands are listed from high to low.
fn band(value: u64, bands: &[(u64, u64)]) -> u64 {
    bands.iter().find(|(bound, _)| value > *bound).map_or(0, |(_, points)| *points)
}

/// `points` per item, up to `most`.
fn per_item(items: u64, points: u64, most: u64) -> u64 {
    items.saturating_mul(points).min(most)
}

/// `points · part / whole`, rounded half up; integers, so that a half is exactly a half.
fn share(points: u64, part: usize, whole: usize) -> u64 {
    let (part, whole) = (part as u64, whole as u64);
    (2 * points * part + whole).checked_div(2 * whole).unwrap_or(0)
}

fn clamp(points: u64) -> Score {
    points.min(100) as Score
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_agree_with_the_wire() {
        for heuristic in Heuristic::ALL {
            assert_eq!(Heuristic::from_name(heuristic.name()), Some(heuristic));
            assert_eq!(serde_json::to_value(heuristic).unwrap(), heuristic.name());
        }
        assert!(Heuristic::ALL.is_sorted());
    }

    #[test]
    fn a_share_is_rounded_half_up() {
        for (points, part, whole, expected) in
            [(60, 1, 3, 20), (30, 1, 4, 8), (30, 1, 20, 2), (30, 1, 7, 4), (60, 0, 0, 0), (60, 5, 5, 60)]
        {
            assert_eq!(share(points, part, whole), expected, "{points} * {part}/{whole}");
        }
    }
}
