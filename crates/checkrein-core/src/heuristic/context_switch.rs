//! Is the work moving to other concepts or other files?
//!
//! The fewer words of the current goal the new one shares, the further away it is. Changes spread
//! over several files count with or without goals.

use super::{PushSignals, Score, band, clamp, keywords, share};

pub(super) const MAX: Score = 80;

pub(super) fn score(signals: &PushSignals) -> Score {
    clamp(distance(&signals.current_goal, &signals.potential_goal) + band(signals.files, &[(3, 20), (1, 10)]))
}

/// 0 for a goal that keeps every keyword of the current one, 60 for one that keeps none.
fn distance(current: &str, potential: &str) -> u64 {
    if current.is_empty() || potential.is_empty() {
        return 0;
    }
    let current = keywords(current);
    if current.is_empty() {
        return 60;
    }
    share(60, current.difference(&keywords(potential)).count(), current.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores() {
        for (current, potential, files, expected) in [
            ("", "", 0, 0),
            ("", "", 1, 0),
            ("", "", 2, 10),
            ("", "", 3, 10),
            ("", "", 4, 20),
            ("build the parser", "", 2, 10),
            ("", "build the parser", 2, 10),
            ("build the parser", "build the parser", 0, 0),
            ("build the parser", "Parser build and docs", 0, 0),
            ("build the parser", "test the parser", 0, 30),
            ("build parser lexer", "parser", 0, 40),
            ("one two three four five six seven eight", "one", 0, 53),
            ("build the parser", "fix login", 0, 60),
            ("do it", "fix login", 0, 60),
            ("build the parser", "do it", 0, 60),
            ("build the parser", "fix login", 9, MAX),
        ] {
            let signals = PushSignals {
                current_goal: current.into(),
                potential_goal: potential.into(),
                files,
                ..Default::default()
            };
            assert_eq!(score(&signals), expected, "{current:?} -> {potential:?}, {files} files");
        }
    }
}
