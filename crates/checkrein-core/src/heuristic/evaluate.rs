//! From scores to a recommendation.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::custom;
use super::suggested_status::suggested_status;
use super::{
    Family, Heuristic, PopSignals, PushSignals, Score, complexity, context_overflow, context_switch,
    duration, failure_boundary, goal_completion, stagnation,
};
use crate::frame::{FrameConfig, PopStatus};

/// Should a child frame be pushed?
pub fn evaluate_push(signals: &PushSignals, config: &FrameConfig) -> Evaluation {
    let scores = Scores::of(Family::Push, config, |heuristic| match heuristic {
        Heuristic::FailureBoundary => failure_boundary::score(signals),
        Heuristic::ContextSwitch => context_switch::score(signals),
        Heuristic::Complexity => complexity::score(signals),
        Heuristic::Duration => duration::score(signals),
        Heuristic::GoalCompletion | Heuristic::Stagnation | Heuristic::ContextOverflow => 0,
    });
    let scores = scores.with_custom(Family::Push, config, |custom| custom.score_push(signals));
    Evaluation::new(scores, config, config.push_threshold, None)
}

/// Should the frame be popped? Never if it has no parent to return to.
pub fn evaluate_pop(signals: &PopSignals, has_parent: bool, config: &FrameConfig) -> Evaluation {
    let scores = Scores::of(Family::Pop, config, |heuristic| match heuristic {
        Heuristic::GoalCompletion => goal_completion::score(signals),
        Heuristic::Stagnation => stagnation::score(signals),
        Heuristic::ContextOverflow => context_overflow::score(signals),
        Heuristic::FailureBoundary
        | Heuristic::ContextSwitch
        | Heuristic::Complexity
        | Heuristic::Duration => 0,
    });
    let scores = scores.with_custom(Family::Pop, config, |custom| custom.score_pop(signals));
    let evaluation = Evaluation::new(scores, config, config.pop_threshold, Some(suggested_status(signals)));
    Evaluation { should: evaluation.should && has_parent, ..evaluation }
}

/// The greatest confidence the family can reach under this configuration. A threshold above it never
/// recommends anything, which is worth telling whoever set it.
pub fn ceiling(family: Family, config: &FrameConfig) -> Score {
    Scores::of(family, config, Heuristic::max_score).with_custom(family, config, |_| 100).confidence(config)
}

/// A recommendation with everything it rests on; serialises as the answer of `should-push` and
/// `should-pop`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evaluation {
    pub should: bool,
    pub confidence: Score,
    pub threshold: Score,
    #[schemars(with = "String")]
    pub primary_reason: PrimaryReason,
    #[schemars(with = "BTreeMap<String, Score>")]
    pub scores: Scores,
    /// The status to pop with; a push has none.
    pub suggested_status: Option<PopStatus>,
}

impl Evaluation {
    fn new(scores: Scores, config: &FrameConfig, threshold: Score, status: Option<PopStatus>) -> Evaluation {
        let confidence = scores.confidence(config);
        Evaluation {
            should: confidence >= threshold,
            confidence,
            threshold,
            primary_reason: scores.primary_reason(),
            scores,
            suggested_status: status,
        }
    }
}

/// How the scores of a family become one confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// The plain mean: several signals must agree.
    #[default]
    Average,
    /// The mean by the configured weights; a heuristic without one weighs 1.
    Weighted,
    /// The strongest signal alone.
    Max,
}

impl Aggregation {
    pub const ALL: [Aggregation; 3] = [Aggregation::Average, Aggregation::Weighted, Aggregation::Max];

    pub fn name(self) -> &'static str {
        match self {
            Aggregation::Average => "average",
            Aggregation::Weighted => "weighted",
            Aggregation::Max => "max",
        }
    }
}

/// Scores of the enabled heuristics of one family: the built-in ones in the order of
/// [`Heuristic::ALL`], then those of the settings by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scores {
    built_in: Vec<(Heuristic, Score)>,
    custom: Vec<(String, Score)>,
}

impl Scores {
    fn of(family: Family, config: &FrameConfig, score: impl Fn(Heuristic) -> Score) -> Scores {
        let enabled = config.enabled_heuristics.iter().filter(|heuristic| heuristic.family() == family);
        let built_in = enabled.map(|&heuristic| (heuristic, score(heuristic))).collect();
        Scores { built_in, custom: Vec::new() }
    }

    fn with_custom(
        self,
        family: Family,
        config: &FrameConfig,
        score: impl Fn(&custom::CustomHeuristic) -> Score,
    ) -> Scores {
        let enabled = config.custom().filter(|(_, custom)| custom.family == family);
        let custom = enabled.map(|(name, custom)| (name.to_owned(), score(custom))).collect();
        Scores { custom, ..self }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, Score)> + '_ {
        let built_in = self.built_in.iter().map(|(heuristic, score)| (heuristic.name(), *score));
        built_in.chain(self.custom.iter().map(|(name, score)| (name.as_str(), *score)))
    }

    /// 0 to 100, rounded half up; 0 when there is nothing to go by.
    fn confidence(&self, config: &FrameConfig) -> Score {
        match config.aggregation {
            Aggregation::Average => self.mean(|_| 1.0),
            Aggregation::Weighted => self.mean(|name| config.weight(name)),
            Aggregation::Max => self.iter().map(|(_, score)| score).max().unwrap_or(0),
        }
    }

    fn mean(&self, weight: impl Fn(&str) -> f64) -> Score {
        let (sum, weights) = self.iter().fold((0.0, 0.0), |(sum, weights), (name, score)| {
            let weight = weight(name);
            (sum + weight * f64::from(score), weights + weight)
        });
        if weights > 0.0 { (sum / weights).round().clamp(0.0, 100.0) as Score } else { 0 }
    }

    fn primary_reason(&self) -> PrimaryReason {
        let mut best = (None, 0);
        for (name, score) in self.iter() {
            if score > best.1 {
                best = (Some(name.to_owned()), score);
            }
        }
        PrimaryReason(best.0)
    }
}

impl Serialize for Scores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// The heuristic that spoke loudest, if any did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimaryReason(pub Option<String>);

impl fmt::Display for PrimaryReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(name) => f.write_str(&name.replace('_', " ")),
            None => f.write_str("No strong signals"),
        }
    }
}

impl Serialize for PrimaryReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scores(scores: &[(Heuristic, Score)]) -> Scores {
        Scores { built_in: scores.to_vec(), custom: Vec::new() }
    }

    #[test]
    fn confidence_by_aggregation() {
        use Aggregation::*;
        use Heuristic::*;
        for (aggregation, given, expected) in [
            (Average, vec![], 0),
            (Weighted, vec![], 0),
            (Max, vec![], 0),
            (Average, vec![(FailureBoundary, 1), (Duration, 0)], 1),
            (Average, vec![(FailureBoundary, 1), (Duration, 0), (Complexity, 0)], 0),
            (Average, vec![(FailureBoundary, 60), (ContextSwitch, 70), (Complexity, 25), (Duration, 0)], 39),
            (Weighted, vec![(FailureBoundary, 60), (Duration, 20)], 50),
            (Weighted, vec![(Complexity, 60), (ContextSwitch, 20)], 40),
            (Weighted, vec![(Stagnation, 90)], 0),
            (Max, vec![(FailureBoundary, 60), (Duration, 20)], 60),
        ] {
            let config = FrameConfig {
                aggregation,
                weights: BTreeMap::from([(FailureBoundary, 3.0), (Stagnation, 0.0)]),
                ..Default::default()
            };
            assert_eq!(scores(&given).confidence(&config), expected, "{aggregation:?} {given:?}");
        }
    }

    #[test]
    fn the_first_of_the_greatest_scores_is_the_reason() {
        use Heuristic::*;
        for (given, expected) in [
            (vec![], "No strong signals"),
            (vec![(FailureBoundary, 0), (ContextSwitch, 0)], "No strong signals"),
            (vec![(FailureBoundary, 30), (ContextSwitch, 30)], "failure boundary"),
            (vec![(FailureBoundary, 30), (ContextSwitch, 31)], "context switch"),
        ] {
            assert_eq!(scores(&given).primary_reason().to_string(), expected, "{given:?}");
        }
    }

    #[test]
    fn the_ceiling_follows_the_configuration() {
        use Heuristic::*;
        let with = |enabled: &[Heuristic], aggregation| FrameConfig {
            enabled_heuristics: enabled.iter().copied().collect(),
            aggregation,
            ..Default::default()
        };
        for (config, push, pop) in [
            (FrameConfig::default(), 75, 97),
            (with(&Heuristic::ALL, Aggregation::Max), 80, 100),
            (with(&[Duration], Aggregation::Average), 70, 0),
            (with(&[], Aggregation::Average), 0, 0),
        ] {
            assert_eq!((ceiling(Family::Push, &config), ceiling(Family::Pop, &config)), (push, pop));
        }
    }

    #[test]
    fn the_threshold_itself_recommends() {
        let signals = PushSignals { errors: 4, ..Default::default() };
        for (push_threshold, should) in [(49, true), (50, true), (51, false)] {
            let config = FrameConfig {
                push_threshold,
                enabled_heuristics: [Heuristic::FailureBoundary].into(),
                ..Default::default()
            };
            assert_eq!(evaluate_push(&signals, &config).should, should, "threshold {push_threshold}");
        }
    }

    #[test]
    fn a_root_is_never_popped() {
        let config = FrameConfig { pop_threshold: 0, ..Default::default() };
        assert!(evaluate_pop(&PopSignals::default(), true, &config).should);
        assert!(!evaluate_pop(&PopSignals::default(), false, &config).should);
    }

    fn any_config() -> impl Strategy<Value = FrameConfig> {
        let aggregation = prop::sample::select(Aggregation::ALL.to_vec());
        let enabled = prop::sample::subsequence(Heuristic::ALL.to_vec(), 0..=7);
        let weights =
            prop::collection::btree_map(prop::sample::select(Heuristic::ALL.to_vec()), 0.0..10.0, 0..7);
        (aggregation, enabled, weights).prop_map(|(aggregation, enabled, weights)| FrameConfig {
            aggregation,
            enabled_heuristics: enabled.into_iter().collect(),
            weights,
            ..Default::default()
        })
    }

    fn any_push() -> impl Strategy<Value = PushSignals> {
        let count = || prop_oneof![0..60u64, any::<u64>()];
        ("[a-z ]{0,30}", "[a-z ]{0,30}", count(), count(), count(), count()).prop_map(
            |(current_goal, potential_goal, messages, files, errors, tokens)| PushSignals {
                current_goal,
                potential_goal,
                messages,
                files,
                errors,
                tokens,
            },
        )
    }

    fn any_pop() -> impl Strategy<Value = PopSignals> {
        let texts = || prop::collection::vec("[a-z ]{0,12}", 0..6);
        let count = || prop_oneof![0..10u64, any::<u64>()];
        ("[a-z ]{0,30}", texts(), texts(), count(), count(), count(), count()).prop_map(
            |(goal, artifacts, successes, failures, no_progress_turns, tokens, context_limit)| PopSignals {
                goal,
                artifacts,
                successes,
                failures,
                no_progress_turns,
                tokens,
                context_limit,
            },
        )
    }

    proptest! {
        #[test]
        fn no_score_exceeds_its_maximum_and_no_confidence_the_ceiling(
            push in any_push(), pop in any_pop(), has_parent: bool, config in any_config(),
        ) {
            for (family, evaluation) in [
                (Family::Push, evaluate_push(&push, &config)),
                (Family::Pop, evaluate_pop(&pop, has_parent, &config)),
            ] {
                for &(heuristic, score) in &evaluation.scores.built_in {
                    prop_assert!(score <= heuristic.max_score() && score <= 100);
                    prop_assert_eq!(heuristic.family(), family);
                }
                prop_assert!(evaluation.confidence <= ceiling(family, &config));
                prop_assert_eq!(
                    evaluation.scores.iter().all(|(_, score)| score == 0),
                    evaluation.primary_reason == PrimaryReason(None)
                );
            }
        }

        #[test]
        fn more_errors_never_lower_the_confidence(
            signals in any_push(), more in any::<u64>(), config in any_config(),
        ) {
            let worse = PushSignals { errors: signals.errors.saturating_add(more), ..signals.clone() };
            prop_assert!(
                evaluate_push(&worse, &config).confidence >= evaluate_push(&signals, &config).confidence
            );
        }
    }
}
