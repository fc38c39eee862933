//! The status a frame should be popped with.
//!
//! It describes the frame, not the confidence, so a heuristic that is switched off still counts here.

use super::{PopSignals, goal_completion, stagnation};
use crate::frame::PopStatus;

pub(super) fn suggested_status(signals: &PopSignals) -> PopStatus {
    if stagnation::score(signals) > 60 {
        return if signals.failures > signals.successes.len() as u64 {
            PopStatus::Failed
        } else {
            PopStatus::Blocked
        };
    }
    if goal_completion::score(signals) > 60 {
        return PopStatus::Completed;
    }
    // More than five idle turns alone are a stagnation above 60, so only failures are left to tell.
    if signals.failures > 3 { PopStatus::Failed } else { PopStatus::Completed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        use PopStatus::*;
        for (no_progress_turns, failures, successes, expected) in [
            (0, 0, 0, Completed),
            (5, 0, 0, Completed),
            (6, 0, 0, Blocked),
            (6, 1, 0, Failed),
            (6, 1, 1, Blocked),
            (6, 4, 5, Blocked),
            (6, 4, 3, Failed),
            (0, 3, 0, Completed),
            (0, 4, 0, Failed),
            (3, 4, 9, Failed),
            (4, 2, 0, Completed),
            (4, 4, 0, Failed),
            (4, 4, 4, Blocked),
        ] {
            let signals = PopSignals {
                no_progress_turns,
                failures,
                successes: vec!["ok".into(); successes],
                ..Default::default()
            };
            assert_eq!(
                suggested_status(&signals),
                expected,
                "{no_progress_turns} idle turns, {failures} failures, {successes} successes"
            );
        }
    }

    #[test]
    fn a_reached_goal_outweighs_failures_on_the_way() {
        let mut signals = PopSignals { failures: 4, successes: vec!["ok".into(); 3], ..Default::default() };
        assert_eq!(suggested_status(&signals), PopStatus::Failed, "goal completion is 60");
        signals.artifacts = vec!["a.rs".into()];
        assert_eq!(suggested_status(&signals), PopStatus::Completed, "goal completion is 70");
    }
}
