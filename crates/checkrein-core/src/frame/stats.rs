//! What became of the suggestions, counted.

use schemars::JsonSchema;
use serde::Serialize;

use super::suggestion::{Suggestion, SuggestionStatus};
use crate::heuristic::Family;

/// Folded from the history, so it can never disagree with it. What is neither acted nor ignored
/// still waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
}

impl<'a> FromIterator<&'a Suggestion> for SuggestionStats {
    fn from_iter<T: IntoIterator<Item = &'a Suggestion>>(suggestions: T) -> SuggestionStats {
        let mut stats = SuggestionStats::default();
        for suggestion in suggestions {
            let kind = suggestion.proposal.kind();
            stats.total += 1;
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
        });
        assert_eq!(
            history.iter().collect::<SuggestionStats>(),
            SuggestionStats { total: 7, push: 4, pop: 3, acted: 3, ignored: 3, auto_push: 1, auto_pop: 1 }
        );
    }
}
