//! Is the work going round in circles, by turns without progress or by repeated failures?

use super::{PopSignals, Score, band, clamp};

pub(super) const MAX: Score = 100;

pub(super) fn score(signals: &PopSignals) -> Score {
    let idle = band(signals.no_progress_turns, &[(5, 70), (3, 40), (1, 20)]);
    let failing = band(signals.failures, &[(3, 40), (1, 20)]);
    clamp(idle + failing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores() {
        for (no_progress_turns, failures, expected) in [
            (0, 0, 0),
            (1, 0, 0),
            (2, 0, 20),
            (3, 0, 20),
            (4, 0, 40),
            (5, 0, 40),
            (6, 0, 70),
            (0, 1, 0),
            (0, 2, 20),
            (0, 3, 20),
            (0, 4, 40),
            (6, 2, 90),
            (u64::MAX, u64::MAX, MAX),
        ] {
            let signals = PopSignals { no_progress_turns, failures, ..Default::default() };
            assert_eq!(score(&signals), expected, "{no_progress_turns} idle turns, {failures} failures");
        }
    }
}
