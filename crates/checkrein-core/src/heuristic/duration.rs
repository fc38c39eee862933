//! Has the work gone on for long? Tokens stand in for time.

use super::{PushSignals, Score, band, clamp};

pub(super) const MAX: Score = 70;

pub(super) fn score(signals: &PushSignals) -> Score {
    clamp(band(signals.tokens, &[(50_000, 70), (30_000, 50), (15_000, 30), (5_000, 15)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores() {
        for (tokens, expected) in [
            (0, 0),
            (5_000, 0),
            (5_001, 15),
            (15_000, 15),
            (15_001, 30),
            (30_000, 30),
            (30_001, 50),
            (50_000, 50),
            (50_001, 70),
            (u64::MAX, MAX),
        ] {
            assert_eq!(score(&PushSignals { tokens, ..Default::default() }), expected, "{tokens} tokens");
        }
    }
}
