//! When a delivery that failed is tried again: the schedule Standard Webhooks suggests, about three days
//! long.

use std::time::Duration;

use crate::deliverable::Digest;

/// How long to wait after each attempt that failed.
const DELAYS_S: [u64; 9] =
    [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600];

/// After so many it is a dead letter.
pub const ATTEMPTS_MAX: u32 = DELAYS_S.len() as u32 + 1;

/// A receiver may ask for more time, but not for ever.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3600);

/// A webhook that took nothing for so long is sent nothing any more.
pub const DISABLED_AFTER: Duration = Duration::from_secs(5 * 24 * 3600);

/// How long to wait after the attempt of this number, counted from 1; none where it was the last.
///
/// Up to a fifth is added, so that what failed together does not come back together. It depends on the
/// delivery alone, so the same question has the same answer.
pub fn next_attempt(attempt: u32, id: &str, retry_after: Option<Duration>) -> Option<Duration> {
    let index = usize::try_from(attempt.saturating_sub(1)).ok()?;
    let base_ms = DELAYS_S.get(index)? * 1000;
    let digest = Digest::of(format!("{id} {attempt}").as_bytes());
    let share = u64::from(digest.as_bytes().first().copied().unwrap_or_default());
    let waited = Duration::from_millis(base_ms + base_ms * share / (5 * 255));
    Some(waited.max(retry_after.unwrap_or_default().min(RETRY_AFTER_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule() {
        const H: u64 = 3600;
        for (attempt, least_s) in [
            (1, Some(5)),
            (2, Some(300)),
            (3, Some(1800)),
            (4, Some(2 * H)),
            (5, Some(5 * H)),
            (6, Some(10 * H)),
            (7, Some(14 * H)),
            (8, Some(20 * H)),
            (9, Some(24 * H)),
            (10, None),
            (11, None),
            (u32::MAX, None),
        ] {
            for id in ["msg_a", "msg_b", "msg_c"] {
                let next = next_attempt(attempt, id, None);
                assert_eq!(next, next_attempt(attempt, id, None), "the same question");
                match (next, least_s) {
                    (None, None) => assert!(attempt >= ATTEMPTS_MAX),
                    (Some(next), Some(least_s)) => {
                        let least = Duration::from_secs(least_s);
                        assert!(next >= least && next <= least * 6 / 5, "{attempt} {id}: {next:?}");
                    }
                    other => panic!("{attempt}: {other:?}"),
                }
            }
        }
        let spread: std::collections::HashSet<_> =
            (0..50).map(|number| next_attempt(3, &format!("msg_{number}"), None)).collect();
        assert!(spread.len() > 25, "they come back together: {spread:?}");
    }

    #[test]
    fn a_receiver_may_ask_for_more_time_but_not_for_less_or_for_ever() {
        let asked = |seconds| next_attempt(1, "msg_a", Some(Duration::from_secs(seconds))).unwrap();
        assert_eq!(asked(0), next_attempt(1, "msg_a", None).unwrap());
        assert_eq!(asked(120), Duration::from_secs(120));
        assert_eq!(asked(u64::MAX), RETRY_AFTER_MAX);
        assert_eq!(next_attempt(ATTEMPTS_MAX, "msg_a", Some(Duration::from_secs(9))), None);
    }
}
