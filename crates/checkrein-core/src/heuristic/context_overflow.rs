//! Is the context window filling up, so that folding into a summary becomes urgent?

use super::{PopSignals, Score};

pub(super) const MAX: Score = 90;

/// Assumed when the caller does not know its limit.
const USUAL_LIMIT_TOKENS: u64 = 100_000;

pub(super) fn score(signals: &PopSignals) -> Score {
    let limit = match signals.context_limit {
        0 => USUAL_LIMIT_TOKENS,
        limit => limit,
    };
    // Tenths of the limit against tenths of the tokens: exact where a quotient would be rounded.
    let exceeds = |tenths: u128| u128::from(signals.tokens) * 10 > u128::from(limit) * tenths;
    [(9, MAX), (8, 70), (7, 50), (5, 20)]
        .into_iter()
        .find(|(tenths, _)| exceeds(*tenths))
        .map_or(0, |(_, points)| points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores() {
        for (tokens, context_limit, expected) in [
            (0, 0, 0),
            (50_000, 0, 0),
            (50_001, 0, 20),
            (70_000, 100_000, 20),
            (70_001, 100_000, 50),
            (80_000, 100_000, 50),
            (80_001, 100_000, 70),
            (90_000, 100_000, 70),
            (90_001, 100_000, 90),
            (9, 10, 70),
            (10, 10, 90),
            (u64::MAX, 1, MAX),
            (u64::MAX, u64::MAX, MAX),
        ] {
            let signals = PopSignals { tokens, context_limit, ..Default::default() };
            assert_eq!(score(&signals), expected, "{tokens} of {context_limit}");
        }
    }
}
