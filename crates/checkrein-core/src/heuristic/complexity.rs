//! Has the task grown enough to deserve a frame of its own?

use super::{PushSignals, Score, band, clamp};

pub(super) const MAX: Score = 70;

pub(super) fn score(signals: &PushSignals) -> Score {
    let messages = band(signals.messages, &[(20, 40), (10, 25), (5, 10)]);
    let files = band(signals.files, &[(5, 30), (2, 15)]);
    clamp(messages + files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores() {
        for (messages, files, expected) in [
            (0, 0, 0),
            (5, 0, 0),
            (6, 0, 10),
            (10, 0, 10),
            (11, 0, 25),
            (20, 0, 25),
            (21, 0, 40),
            (0, 2, 0),
            (0, 3, 15),
            (0, 5, 15),
            (0, 6, 30),
            (u64::MAX, u64::MAX, MAX),
        ] {
            let signals = PushSignals { messages, files, ..Default::default() };
            assert_eq!(score(&signals), expected, "{messages} messages, {files} files");
        }
    }
}
