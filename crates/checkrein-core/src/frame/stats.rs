//! What became of the suggestions, counted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::suggestion::{Suggestion, SuggestionStatus};
use crate::heuristic::Family;

/// Folded from the history, so it can never disagree with it. What is neither acted nor ignored
/// still waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestionStats {
    pub total: u64,
    pub push: u64,
    pub pop: u64,
    pub acted: u64,
    /// Turned down or expired.
    pub ignored: u64,
    /// Pushes performed without asking.
    pub auto_push: u64,
    /// Pops performed without asking.
    pub auto_pop: u64,
    /// Moves that were taken back.
    pub undone: u64,
    /// Said to have been of use.
    pub useful: u64,
    pub not_useful: u64,
}

impl SuggestionStats {
    /// The share of settled suggestions that were acted upon; none while none is settled.
    #[expect(clippy::cast_precision_loss, reason = "nobody has that many suggestions")]
    pub fn action_rate(&self) -> Option<f64> {
        let settled = self.acted.saturating_add(self.ignored);
        (settled > 0).then(|| self.acted as f64 / settled as f64)
    }
}

/// How often a heuristic spoke for what turned out right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    pub heuristic: String,
    pub right: u64,
    pub wrong: u64,
}

impl Precision {
    pub fn percent(&self) -> Option<u64> {
        (100 * self.right).checked_div(self.right + self.wrong)
    }
}

/// Of every heuristic that spoke, by name: one that scored 0 did not speak for it.
pub fn precision<'s>(history: impl Iterator<Item = &'s Suggestion>) -> Vec<Precision> {
    let mut rows: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for suggestion in history {
        let Some(right) = suggestion.was_right() else { continue };
        for (name, _) in suggestion.scores.iter().filter(|(_, score)| **score > 0) {
            let row = rows.entry(name).or_default();
            if right {
                row.0 += 1;
            } else {
                row.1 += 1;
            }
        }
    }
    let rows = rows.into_iter();
    rows.map(|(name, (right, wrong))| Precision { heuristic: name.to_owned(), right, wrong }).collect()
}

impl<'a> FromIterator<&'a Suggestion> for SuggestionStats {
    fn from_iter<T: IntoIterator<Item = &'a Suggestion>>(suggestions: T) -> SuggestionStats {
        let mut stats = SuggestionStats::default();
        for suggestion in suggestions {
            let kind = suggestion.proposal.kind();
            stats.total += 1;
            stats.undone += u64::from(suggestion.undone);
            stats.useful += u64::from(suggestion.useful == Some(true));
            stats.not_useful += u64::from(suggestion.useful == Some(false));
            match kind {
                Family::Push => stats.push += 1,
                Family::Pop => stats.pop += 1,
            }
            match suggestion.status {
                SuggestionStatus::Pending => {}
                SuggestionStatus::Ignored | SuggestionStatus::Expired => stats.ignored += 1,
                SuggestionStatus::Acted => {
                    stats.acted += 1;
                    match kind {
                        Family::Push if suggestion.automatic => stats.auto_push += 1,
                        Family::Pop if suggestion.automatic => stats.auto_pop += 1,
                        Family::Push | Family::Pop => {}
                    }
                }
            }
        }
        stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{PopStatus, Proposal};

    #[test]
    fn counts() {
        use SuggestionStatus::*;
        let push = || Proposal::Push { goal: "x".into() };
        let pop = || Proposal::Pop { frame: "f".into(), status: PopStatus::Completed };
        let history = [
            (push(), Pending, false),
            (push(), Acted, false),
            (push(), Acted, true),
            (push(), Expired, true),
            (pop(), Ignored, false),
            (pop(), Expired, false),
            (pop(), Acted, true),
        ]
        .map(|(proposal, status, automatic)| Suggestion {
            id: String::new(),
            session: String::new(),
            proposal,
            reason: String::new(),
            confidence: 80,
            status,
            automatic,
            created_at_ms: 0,
            refreshed_at_ms: 0,
            scores: [("duration".to_owned(), 70), ("complexity".to_owned(), 0)].into(),
            agent: None,
            acted_at_turn: None,
            undone: false,
            useful: None,
        });
        assert_eq!(
            history.iter().collect::<SuggestionStats>(),
            SuggestionStats {
                total: 7,
                push: 4,
                pop: 3,
                acted: 3,
                ignored: 3,
                auto_push: 1,
                auto_pop: 1,
                ..SuggestionStats::default()
            }
        );
        let stats = history.iter().collect::<SuggestionStats>();
        assert_eq!(stats.action_rate(), Some(0.5));
        assert_eq!(SuggestionStats { ignored: 1, ..stats }.action_rate(), Some(0.75));
        assert_eq!(SuggestionStats { acted: 0, ..stats }.action_rate(), Some(0.0));
        assert_eq!(SuggestionStats { total: 1, push: 1, ..Default::default() }.action_rate(), None);
        let rows = precision(history.iter());
        assert_eq!(rows, [Precision { heuristic: "duration".into(), right: 3, wrong: 3 }]);
        assert_eq!(rows[0].percent(), Some(50));
    }
}
