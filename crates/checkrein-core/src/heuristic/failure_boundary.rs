//! Is the work at hand a unit of its own, one that could fail and be retried alone?
//!
//! Errors say that something can fail here; a goal other than the current one says where the
//! boundary would run.

use super::{PushSignals, Score, clamp, per_item};

pub(super) const MAX: Score = 80;

pub(super) fn score(signals: &PushSignals) -> Score {
    let errors = per_item(signals.errors, 15, 50);
    let another_goal = !signals.potential_goal.is_empty() && signals.potential_goal != signals.current_goal;
    clamp(errors + if another_goal { 30 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores() {
        for (errors, current, potential, expected) in [
            (0, "", "", 0),
            (1, "", "", 15),
            (3, "", "", 45),
            (4, "", "", 50),
            (u64::MAX, "", "", 50),
            (0, "a", "b", 30),
            (0, "", "b", 30),
            (0, "a", "", 0),
            (0, "a", "a", 0),
            (0, "a", "A", 30),
            (0, "a", "a ", 30),
            (2, "a", "b", 60),
            (9, "a", "b", MAX),
        ] {
            let signals = PushSignals {
                errors,
                current_goal: current.into(),
                potential_goal: potential.into(),
                ..Default::default()
            };
            assert_eq!(score(&signals), expected, "{errors} errors, {current:?} -> {potential:?}");
        }
    }
}
