//! Waiting for a future without a runtime.
//!
//! The futures of the engine need none: a thread of the store wakes them. Parking the caller's thread
//! works everywhere, also where a runtime of the caller's own would refuse to be entered twice.

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let _blocked = Blocked::begin();
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return done;
        }
        thread::park();
    }
}

/// The same until `deadline`; none if it has passed.
pub fn block_on_until<T>(deadline: Instant, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let _blocked = Blocked::begin();
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return Some(done);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        thread::park_timeout(left);
    }
}

thread_local! {
    static BLOCKED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread waits for what it asks, and does nothing else meanwhile.
pub(crate) fn is_blocked() -> bool {
    BLOCKED.get()
}

/// Until it is dropped.
struct Blocked {
    before: bool,
}

impl Blocked {
    fn begin() -> Blocked {
        Blocked { before: BLOCKED.replace(true) }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        BLOCKED.set(self.before);
    }
}
