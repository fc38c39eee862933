//! What waits to be written, and how long the writer waits for more of it.
//!
//! Under load, those that a commit has answered are about to ask again, one after the other. A commit
//! that begins with the first of them is a small one, and the rest waits for the next; so the writer
//! waits until they are back. It sleeps meanwhile: waking it for each of them would take the processor
//! from those it waits for.

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many share one commit at most.
const BATCH_MAX: usize = 256;
/// So few do not make a load: they are served at once.
const FEW: usize = 8;
/// Whoever is not back by then is doing something else.
const LINGER_MAX: Duration = Duration::from_millis(2);
/// When nobody came for so long, nobody else is on the way.
const PAUSE_MAX: Duration = Duration::from_micros(250);
/// More than will ever wait.
const NOT_ASLEEP: usize = usize::MAX;

pub(super) struct Waiting<C> {
    line: Mutex<Line<C>>,
    enough: Condvar,
}

struct Line<C> {
    commands: Vec<C>,
    /// How many there must be before the writer is woken; it is woken once.
    wanted: usize,
    closed: bool,
}

/// What the last commit tells about the next one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last {
    /// How many may ask at once: those it answered, and those that came while it was under way.
    pub expected: usize,
    pub duration: Duration,
}

impl<C> Waiting<C> {
    pub fn new() -> Waiting<C> {
        let line = Line { commands: Vec::new(), wanted: NOT_ASLEEP, closed: false };
        Waiting { line: Mutex::new(line), enough: Condvar::new() }
    }

    /// Whether it will be looked at.
    pub fn push(&self, command: C) -> bool {
        let mut line = self.line();
        if line.closed {
            return false;
        }
        line.commands.push(command);
        let enough = line.commands.len() >= line.wanted;
        if enough {
            line.wanted = NOT_ASLEEP;
        }
        drop(line);
        if enough {
            self.enough.notify_one();
        }
        true
    }

    /// Takes no more; what waits is still to be done.
    pub fn close(&self) {
        self.line().closed = true;
        self.enough.notify_one();
    }

    /// Takes no more and forgets what waits.
    pub fn abandon(&self) {
        let mut line = self.line();
        line.closed = true;
        let forgotten = std::mem::take(&mut line.commands);
        drop(line);
        drop(forgotten);
    }

    pub fn len(&self) -> usize {
        self.line().commands.len()
    }

    /// Those that share the next commit; none when it is closed and all is done.
    pub fn take(&self, last: Last) -> Option<Vec<C>> {
        let mut line = self.line();
        if last.expected >= FEW {
            line = self.linger(line, last);
        }
        while line.commands.is_empty() && !line.closed {
            line.wanted = 1;
            line = self.enough.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        line.wanted = NOT_ASLEEP;
        let size = line.commands.len().min(BATCH_MAX);
        let rest = line.commands.split_off(size);
        let batch = std::mem::replace(&mut line.commands, rest);
        (!batch.is_empty()).then_some(batch)
    }

    /// Waits until all are back, but not for long: waiting half as long as a commit takes is worth it
    /// when it saves one.
    fn linger<'l>(&'l self, mut line: MutexGuard<'l, Line<C>>, last: Last) -> MutexGuard<'l, Line<C>> {
        let begun = Instant::now();
        let patience = (last.duration / 2).min(LINGER_MAX);
        let expected = last.expected.min(BATCH_MAX);
        while line.commands.len() < expected && !line.closed {
            let before = line.commands.len();
            let pause = patience.saturating_sub(begun.elapsed()).min(PAUSE_MAX);
            if pause.is_zero() {
                break;
            }
            line.wanted = expected;
            line = self.enough.wait_timeout(line, pause).unwrap_or_else(PoisonError::into_inner).0;
            if line.commands.len() == before {
                break;
            }
        }
        line
    }

    fn line(&self) -> MutexGuard<'_, Line<C>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> fmt::Debug for Waiting<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    const LOAD: Last = Last { expected: FEW, duration: Duration::from_secs(1) };

    #[test]
    fn what_waits_is_taken_together_and_not_more_than_fits() {
        let waiting = Waiting::new();
        for n in 0..BATCH_MAX + 3 {
            assert!(waiting.push(n));
        }
        assert_eq!(waiting.take(Last::default()), Some((0..BATCH_MAX).collect()));
        assert_eq!(waiting.len(), 3);
        assert_eq!(waiting.take(Last::default()), Some(vec![BATCH_MAX, BATCH_MAX + 1, BATCH_MAX + 2]));
    }

    #[test]
    fn under_load_the_writer_sleeps_until_all_are_back() {
        let waiting = Arc::new(Waiting::new());
        let back = Arc::clone(&waiting);
        waiting.push(0);
        // All of them within the time in which at least one must come.
        let coming = thread::spawn(move || (1..FEW).for_each(|n| assert!(back.push(n))));
        let mut taken = Vec::new();
        while taken.len() < FEW {
            taken.extend(waiting.take(LOAD).unwrap());
        }
        coming.join().unwrap();
        assert_eq!(taken, (0..FEW).collect::<Vec<_>>());
    }

    #[test]
    fn whoever_does_not_come_back_is_not_waited_for() {
        let waiting = Waiting::new();
        waiting.push("the only one");
        let begun = Instant::now();
        let long = Last { duration: Duration::from_secs(600), ..LOAD };
        assert_eq!(waiting.take(long), Some(vec!["the only one"]));
        assert!(begun.elapsed() < long.duration / 2, "it waited for whoever did not come");
    }

    #[test]
    fn what_was_accepted_is_taken_after_closing_and_nothing_else_is_accepted() {
        let waiting = Waiting::new();
        waiting.push(1);
        waiting.close();
        assert!(!waiting.push(2));
        assert_eq!(waiting.take(LOAD), Some(vec![1]));
        assert_eq!(waiting.take(LOAD), None);
    }

    #[test]
    fn what_is_abandoned_is_dropped_so_that_nobody_waits_in_vain() {
        let waiting = Waiting::new();
        let command = Arc::new(());
        waiting.push(Arc::clone(&command));
        waiting.abandon();
        assert_eq!(Arc::strong_count(&command), 1);
        assert!(!waiting.push(command));
    }
}
