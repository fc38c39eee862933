//! How long is waited before a model is asked again.

use std::time::Duration;

use super::LlmError;

/// How often and how long a model is asked again.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Tries in all.
    pub tries_max: u32,
    /// The first wait; each further one is twice as long.
    pub wait_first: Duration,
    pub wait_max: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { tries_max: 8, wait_first: Duration::from_millis(500), wait_max: Duration::from_secs(120) }
    }
}

impl Patience {
    /// For a person who waits: a few tries within seconds.
    pub const fn short() -> Patience {
        Patience { tries_max: 3, wait_first: Duration::from_millis(500), wait_max: Duration::from_secs(10) }
    }

    /// How long to wait after so many tries; none where it is of no use.
    pub fn wait(&self, error: &LlmError, tries: u32) -> Option<Duration> {
        if !error.passes() || tries >= self.tries_max {
            return None;
        }
        if let LlmError::RateLimited { retry_after: Some(asked), .. } = error {
            // Whoever is to come back much later is told so instead.
            return (*asked <= self.wait_max).then_some(*asked);
        }
        let doubled =
            self.wait_first.saturating_mul(1_u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX));
        Some(jittered(doubled.min(self.wait_max)))
    }
}

/// Between three quarters and all of it, so that many who wait do not all come back at once.
fn jittered(wait: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let dice = u32::try_from(RandomState::new().hash_one(0_u8) % 256).unwrap_or(0);
    wait.mul_f64(0.75 + f64::from(dice) / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_tried_again() {
        let patience = Patience::default();
        let limited = |seconds: Option<u64>| LlmError::RateLimited {
            said: String::new(),
            retry_after: seconds.map(Duration::from_secs),
        };
        let wait = |error: &LlmError, tries| patience.wait(error, tries).map(|wait| wait.as_millis());
        assert_eq!(wait(&limited(Some(7)), 1), Some(7000), "as it was asked for");
        assert_eq!(wait(&limited(Some(0)), 5), Some(0));
        assert_eq!(wait(&limited(Some(3600)), 1), None, "an hour is not waited");
        assert_eq!(wait(&limited(None), 8), None, "not for ever");
        assert_eq!(wait(&LlmError::NoKey { variable: "K".to_owned() }, 1), None);
        assert_eq!(wait(&LlmError::TooLong { said: String::new() }, 1), None);
        for (tries, low, high) in [(1, 375, 500), (2, 750, 1000), (7, 24_000, 32_000)] {
            let waited = wait(&LlmError::Cut(String::new()), tries).unwrap();
            assert!((low..=high).contains(&waited), "{tries}: {waited}");
        }
    }
}
