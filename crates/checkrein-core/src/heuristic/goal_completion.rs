//! Does the goal look reached?
//!
//! Success signals and artifacts count by themselves; the words of the goal that turn up in them say
//! whether they are about the goal at all.

use super::{PopSignals, Score, clamp, keywords, per_item, share};

pub(super) const MAX: Score = 100;

pub(super) fn score(signals: &PopSignals) -> Score {
    let successes = per_item(signals.successes.len() as u64, 20, 60);
    let artifacts = per_item(signals.artifacts.len() as u64, 10, 30);
    clamp(successes + artifacts + coverage(signals))
}

/// 0 to 30 by the share of the goal's keywords found, as substrings, in what was accomplished.
fn coverage(signals: &PopSignals) -> u64 {
    let accomplished: Vec<String> =
        signals.artifacts.iter().chain(&signals.successes).map(|text| text.to_lowercase()).collect();
    let keywords = keywords(&signals.goal);
    let found = keywords.iter().filter(|word| accomplished.iter().any(|text| text.contains(word.as_str())));
    share(30, found.count(), keywords.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores() {
        for (goal, artifacts, successes, expected) in [
            ("", &[][..], &[][..], 0),
            ("", &["x"], &[], 10),
            ("", &["x"; 3], &[], 30),
            ("", &["x"; 4], &[], 30),
            ("", &[], &["x"], 20),
            ("", &[], &["x"; 3], 60),
            ("", &[], &["x"; 4], 60),
            ("", &["x"; 9], &["x"; 9], 90),
            ("do it", &["do it"], &[], 10),
            ("build login", &["src/Login.rs"], &[], 25),
            ("build login", &[], &["rebuilding went well"], 35),
            ("build login", &["src/login.rs"], &["build ok"], 60),
            ("one two three four", &["one"], &[], 18),
            ("build login", &["build"; 3], &["login"; 3], MAX),
        ] {
            let signals = PopSignals {
                goal: goal.into(),
                artifacts: artifacts.iter().map(|text| text.to_string()).collect(),
                successes: successes.iter().map(|text| text.to_string()).collect(),
                ..Default::default()
            };
            assert_eq!(score(&signals), expected, "{goal:?} {artifacts:?} {successes:?}");
        }
    }
}
