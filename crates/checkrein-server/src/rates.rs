//! How often somebody may ask: a bucket for each that fills again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Kind, Problem};

#[derive(Debug)]
pub struct Rates {
    per_second: f64,
    most: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

/// Who has not asked for a while starts anew.
const BUCKETS_MAX: usize = 10_000;

impl Rates {
    /// So many at once, and so many every second after that; nothing every second is no limit.
    pub fn new(most: u32, every: Duration) -> Rates {
        let per_second = if every.is_zero() { 0.0 } else { f64::from(most) / every.as_secs_f64() };
        Rates { per_second, most: f64::from(most), buckets: Mutex::default() }
    }

    /// Counts one request of somebody's.
    pub fn take(&self, who: &str, now: Instant) -> Result<(), Problem> {
        if self.per_second <= 0.0 {
            return Ok(());
        }
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= BUCKETS_MAX && !buckets.contains_key(who) {
            buckets.retain(|_, bucket| bucket.filled(self, now) < self.most);
            if buckets.len() >= BUCKETS_MAX {
                buckets.clear();
            }
        }
        let new = Bucket { left: self.most, at: now };
        let bucket = buckets.entry(who.to_owned()).or_insert(new);
        let left = bucket.filled(self, now);
        *bucket = Bucket { left, at: now };
        if left >= 1.0 {
            bucket.left = left - 1.0;
            return Ok(());
        }
        let seconds = Duration::try_from_secs_f64((1.0 - left) / self.per_second).unwrap_or(Duration::MAX);
        let problem = Problem::new(Kind::RateLimited, "too many requests in a short time");
        Err(Problem { retry_after: Some(seconds.as_secs() + 1), ..problem })
    }
}

impl Bucket {
    fn filled(self, rates: &Rates, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + since * rates.per_second).min(rates.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_emptied_and_fills_again() {
        let rates = Rates::new(2, Duration::from_secs(10));
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        for (who, seconds, expected) in [
            ("ann", 0, true),
            ("ann", 0, true),
            ("ann", 0, false),
            ("bob", 0, true),
            ("ann", 4, false),
            ("ann", 5, true),
            ("ann", 5, false),
            ("ann", 60, true),
            ("ann", 60, true),
            ("ann", 60, false),
        ] {
            assert_eq!(rates.take(who, at(seconds)).is_ok(), expected, "{who} after {seconds} s");
        }
        let refused = rates.take("ann", at(60)).unwrap_err();
        assert_eq!(refused.retry_after, Some(6));
        let none = Rates::new(0, Duration::ZERO);
        assert!((0..100).all(|_| none.take("ann", begin).is_ok()));
    }

    #[test]
    fn however_many_ask_the_memory_is_bounded() {
        let rates = Rates::new(2, Duration::from_secs(1));
        let begin = Instant::now();
        for number in 0..3 * BUCKETS_MAX {
            rates.take(&number.to_string(), begin).unwrap();
        }
        assert!(rates.buckets.lock().unwrap().len() <= BUCKETS_MAX);
    }
}
