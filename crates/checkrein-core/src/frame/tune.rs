//! What the outcomes of suggestions teach about the settings. Proposes, with the evidence; applying is
//! somebody else's decision.

use std::collections::BTreeMap;
use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{AgentThresholds, FrameConfig, FrameConfigPatch};
use super::stats::{Precision, precision};
use super::suggestion::Suggestion;
use crate::heuristic::{Family, Heuristic, Score, ceiling};

/// What is proposed, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tuning {
    /// Suggestions whose outcome is known
    pub settled: u64,
    /// The type of agent it is about; every one if absent
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push: Option<Threshold>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pop: Option<Threshold>,
    /// Weights for `aggregation: weighted`
    pub weights: BTreeMap<String, f64>,
    pub precision: Vec<Precision>,
    /// The reasons, one a line
    pub evidence: Vec<String>,
}

/// A threshold that would have been better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Threshold {
    pub now: Score,
    pub proposed: Score,
    /// Outcomes at and above the threshold that is proposed
    pub right: u64,
    pub wrong: u64,
}

/// Fewer outcomes teach nothing.
const SETTLED_MIN: usize = 5;
/// Of ten suggestions eight should be right.
const PRECISION_WANTED: u64 = 80;
/// So often right that some were surely held back.
const PRECISION_HIGH: u64 = 95;
const STEP: Score = 5;

pub fn propose<'s>(
    history: impl Iterator<Item = &'s Suggestion>,
    config: &FrameConfig,
    agent: Option<&str>,
) -> Tuning {
    let settled: Vec<&Suggestion> = history.filter(|suggestion| suggestion.was_right().is_some()).collect();
    let mut tuning = Tuning {
        settled: settled.len() as u64,
        agent: agent.map(str::to_owned),
        precision: precision(settled.iter().copied()),
        ..Tuning::default()
    };
    for (family, word, now) in
        [(Family::Push, "push", config.push_threshold), (Family::Pop, "pop", config.pop_threshold)]
    {
        let of_family: Vec<(Score, bool)> = settled
            .iter()
            .filter(|suggestion| suggestion.proposal.kind() == family)
            .filter_map(|suggestion| Some((suggestion.confidence, suggestion.was_right()?)))
            .collect();
        let (threshold, why) = better(&of_family, word, now, ceiling(family, config));
        tuning.evidence.push(why);
        match family {
            Family::Push => tuning.push = threshold,
            Family::Pop => tuning.pop = threshold,
        }
    }
    // Weights are the session's, not a type of agent's.
    if agent.is_none() {
        tuning.weigh(config);
    }
    tuning
}

/// The lowest threshold above which enough was right, and why.
fn better(outcomes: &[(Score, bool)], word: &str, now: Score, most: Score) -> (Option<Threshold>, String) {
    let at = |threshold: Score| {
        let above = outcomes.iter().filter(|(confidence, _)| *confidence >= threshold);
        let right = above.clone().filter(|(_, right)| *right).count() as u64;
        (right, above.count() as u64 - right)
    };
    let all = (outcomes.iter().filter(|(_, right)| *right).count(), outcomes.len());
    let counted = format!("{word}: {} of {} suggestions were right", all.0, all.1);
    if outcomes.len() < SETTLED_MIN {
        return (None, format!("{counted}; at least {SETTLED_MIN} outcomes are needed"));
    }
    let share = |(right, wrong): (u64, u64)| (100 * right).checked_div(right + wrong);
    let propose = |proposed: Score, why: &str| {
        let (right, wrong) = at(proposed);
        let text = format!("{counted}; from {proposed}% on {right} of {} were, {why}", right + wrong);
        (Some(Threshold { now, proposed, right, wrong }), text)
    };
    let total = (all.0 as u64, (all.1 - all.0) as u64);
    if share(total).is_some_and(|share| share >= PRECISION_HIGH) {
        return match now.checked_sub(STEP).filter(|lower| *lower > 0) {
            Some(lower) => propose(lower, "so a lower threshold loses little"),
            None => (None, format!("{counted}; the threshold is as low as it goes")),
        };
    }
    if share(total).is_some_and(|share| share >= PRECISION_WANTED) {
        return (None, format!("{counted}; the threshold is good"));
    }
    let mut candidates: Vec<Score> =
        outcomes.iter().map(|(confidence, _)| *confidence).filter(|confidence| *confidence > now).collect();
    candidates.sort_unstable();
    candidates.dedup();
    let good = |threshold: &Score| share(at(*threshold)).is_some_and(|share| share >= PRECISION_WANTED);
    match candidates.into_iter().find(good) {
        Some(threshold) => propose(threshold, "which is enough"),
        // Nothing that was seen is good enough: a step away from it.
        None => {
            let higher = now.saturating_add(STEP).min(100);
            if higher > most {
                let why = format!(
                    "{counted}; a higher threshold could never be reached ({most}% at most), so disable what misleads"
                );
                return (None, why);
            }
            propose(higher, "so fewer should be made")
        }
    }
}

impl Tuning {
    pub fn is_nothing(&self) -> bool {
        self.push.is_none() && self.pop.is_none() && self.weights.is_empty()
    }

    /// Heuristics that are right more often than the others weigh more.
    fn weigh(&mut self, config: &FrameConfig) {
        let known = || self.precision.iter().filter(|row| (row.right + row.wrong) as usize >= SETTLED_MIN);
        let (right, all) =
            known().fold((0, 0), |(right, all), row| (right + row.right, all + row.right + row.wrong));
        if right == 0 || all == 0 {
            return;
        }
        let mean = right as f64 / all as f64;
        let mut weights = BTreeMap::new();
        for row in known().filter(|row| Heuristic::from_name(&row.heuristic).is_some()) {
            let own = row.right as f64 / (row.right + row.wrong) as f64;
            let weight = ((own / mean).clamp(0.25, 2.0) * 20.0).round() / 20.0;
            if (weight - config.weight(&row.heuristic)).abs() > 0.09 {
                weights.insert(row.heuristic.clone(), weight);
            }
        }
        for (name, weight) in &weights {
            self.evidence
                .push(format!("{name}: weight {weight}, by how often it was right beside the others"));
        }
        self.weights = weights;
    }

    /// The change that is proposed.
    pub fn patch(&self) -> FrameConfigPatch {
        let push = self.push.map(|threshold| f64::from(threshold.proposed));
        let pop = self.pop.map(|threshold| f64::from(threshold.proposed));
        if let Some(agent) = &self.agent {
            let thresholds = AgentThresholds { push_threshold: push, pop_threshold: pop };
            let agents = Some(BTreeMap::from([(agent.clone(), thresholds)]));
            return FrameConfigPatch { agents, ..FrameConfigPatch::default() };
        }
        let weights = (!self.weights.is_empty()).then(|| self.weights.clone());
        FrameConfigPatch {
            push_threshold: push,
            pop_threshold: pop,
            aggregation: weights.as_ref().map(|_| "weighted".to_owned()),
            weights,
            ..FrameConfigPatch::default()
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("# Tuning\n\n- **Outcomes known:** {}\n", self.settled);
        for (word, threshold) in [("Push", self.push), ("Pop", self.pop)] {
            if let Some(Threshold { now, proposed, .. }) = threshold {
                let _ = writeln!(text, "- **{word} Threshold:** {now}% → {proposed}%");
            }
        }
        for (name, weight) in &self.weights {
            let _ = writeln!(text, "- **Weight of {name}:** {weight}");
        }
        if self.is_nothing() {
            text.push_str("- Nothing to change.\n");
        }
        text.push_str("\n## Evidence\n");
        for line in &self.evidence {
            let _ = writeln!(text, "- {line}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_by_what_was_right() {
        let row =
            |confidence: Score, right: bool, times: usize| std::iter::repeat_n((confidence, right), times);
        for (name, outcomes, expected) in [
            ("too few", row(80, false, 4).collect::<Vec<_>>(), None),
            ("good enough", row(75, true, 8).chain(row(75, false, 2)).collect(), None),
            ("always right", row(75, true, 10).collect(), Some(65)),
            ("wrong below 78", row(72, false, 6).chain(row(78, true, 5)).collect(), Some(78)),
            ("never right", row(72, false, 6).collect(), Some(75)),
        ] {
            let (threshold, why) = better(&outcomes, "push", 70, 100);
            assert_eq!(threshold.map(|threshold| threshold.proposed), expected, "{name}: {why}");
        }
        // Nothing above the ceiling is proposed.
        assert_eq!(better(&[(72, false); 6], "push", 74, 75).0, None);
    }
}
