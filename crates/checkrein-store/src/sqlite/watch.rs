//! Notices what other processes commit, without asking the disk over and over.
//!
//! SQLite tells nobody. But a commit appends to the write-ahead log, which the kernel reports, and
//! `data_version` says whether it was somebody else's. The log grows before the disk has it, and what
//! grew can be seen only after that: so a notice is the beginning of looking, not the end.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::watch;

use crate::StoreError;

/// How long a commit may go unseen where the kernel reports nothing, or while the disk takes its time.
const UNSEEN_MAX: Duration = Duration::from_millis(25);
/// How soon after a notice the first look is worth it.
const LOOK_MIN: Duration = Duration::from_millis(1);
/// The same while this process commits, which wakes everybody who waits: they see what others committed as well.
const LOOK_MIN_BUSY: Duration = Duration::from_millis(10);
/// How long after a notice its commit is looked for.
const SETTLED: Duration = Duration::from_secs(1);
/// How soon the thread notices that nobody waits any more.
const CLOSING_MAX: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Watcher {
    closing: Arc<AtomicBool>,
}

impl Watcher {
    /// Counts foreign commits in `changed` until it is dropped.
    pub fn start(
        path: &Path,
        connection: Connection,
        changed: watch::Sender<u64>,
    ) -> Result<Watcher, StoreError> {
        let closing = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&closing);
        // Without notices of the kernel a short sleep has to do.
        let notices = path.parent().and_then(|directory| Notices::of(directory).ok());
        // INVARIANT: read before anybody is told that changes are marked; a commit after this differs.
        let mut seen = version(&connection);
        thread::Builder::new()
            .name("checkrein-watch".to_owned())
            .spawn(move || {
                let mut pace = Pace::new(Instant::now());
                let mut counted = *changed.borrow();
                let mut own_at: Option<Instant> = None;
                while !stop.load(Ordering::Relaxed) {
                    match &notices {
                        Some(notices) if notices.wait(pace.pause) => {
                            pace.noticed(Instant::now());
                            let busy = own_at.is_some_and(|at| at.elapsed() < LOOK_MIN_BUSY * 2);
                            thread::sleep(if busy { LOOK_MIN_BUSY } else { LOOK_MIN });
                            // INVARIANT: before the look, so what it does not see yet is told again.
                            notices.arm();
                        }
                        Some(_) => pace.unnoticed(Instant::now()),
                        None => thread::sleep(UNSEEN_MAX),
                    }
                    let now = version(&connection);
                    if *changed.borrow() != counted {
                        own_at = Some(Instant::now());
                    }
                    if now != seen {
                        seen = now;
                        changed.send_modify(|count| *count += 1);
                    }
                    counted = *changed.borrow();
                }
            })
            .map_err(|error| StoreError::Other { reason: error.to_string() })?;
        Ok(Watcher { closing })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}

/// How long to wait for a notice before the next look.
///
/// The log grows, which is noticed, before its commit can be seen, which is not. So after a notice it is looked for
/// until the disk must have it.
struct Pace {
    pause: Duration,
    noticed_at: Instant,
}

impl Pace {
    /// Begins as after a notice: a commit may be under way whose notice was for nobody.
    fn new(started_at: Instant) -> Pace {
        Pace { pause: LOOK_MIN, noticed_at: started_at }
    }

    fn noticed(&mut self, now: Instant) {
        *self = Pace::new(now);
    }

    fn unnoticed(&mut self, now: Instant) {
        let settled = now.duration_since(self.noticed_at) >= SETTLED;
        self.pause = (self.pause * 2).min(if settled { CLOSING_MAX } else { UNSEEN_MAX });
    }
}

/// Changes when another connection has committed.
fn version(connection: &Connection) -> Option<i64> {
    let mut statement = connection.prepare_cached("PRAGMA data_version").ok()?;
    statement.query_row([], |row| row.get(0)).ok()
}

/// What the kernel tells of a directory, once until it is asked again: telling it for every page that is
/// written would cost whoever writes as much as a part of the writing.
struct Notices {
    told: OwnedFd,
    directory: PathBuf,
}

impl Notices {
    fn of(directory: &Path) -> Result<Notices, rustix::io::Errno> {
        let notices = Notices { told: inotify()?, directory: directory.to_owned() };
        notices.ask()?;
        Ok(notices)
    }

    /// Wants to be told of the next change. Where that fails, looking from time to time has to do.
    fn arm(&self) {
        let _ = self.ask();
    }

    /// Waits for a notice and takes all there are; whether there was one.
    fn wait(&self, at_most: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let timeout = Timespec { tv_sec: 0, tv_nsec: at_most.subsec_nanos().into() };
        let mut ready = [PollFd::new(&self.told, PollFlags::IN)];
        if poll(&mut ready, Some(&timeout)).is_err() {
            thread::sleep(UNSEEN_MAX);
        }
        let mut buffer = [0_u8; 4096];
        let mut noticed = false;
        // Bounded: a directory that is written to without end must not keep us from looking.
        for _ in 0..16 {
            match rustix::io::read(&self.told, &mut buffer) {
                Ok(read) if read > 0 => noticed = true,
                _ => break,
            }
        }
        noticed
    }

    #[cfg(target_os = "linux")]
    fn ask(&self) -> Result<(), rustix::io::Errno> {
        use rustix::fs::inotify::{self, WatchFlags};
        let flags = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::ONESHOT;
        inotify::add_watch(&self.told, &self.directory, flags).map(|_| ())
    }

    #[cfg(not(target_os = "linux"))]
    fn ask(&self) -> Result<(), rustix::io::Errno> {
        Err(rustix::io::Errno::NOSYS)
    }
}

#[cfg(target_os = "linux")]
fn inotify() -> Result<OwnedFd, rustix::io::Errno> {
    use rustix::fs::inotify::{self, CreateFlags};
    inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
}

#[cfg(not(target_os = "linux"))]
fn inotify() -> Result<OwnedFd, rustix::io::Errno> {
    Err(rustix::io::Errno::NOSYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a commit and a watcher that starts in the middle of it, on a clock of its own: the log grows at
    /// `grows`, which is noticed only by a watcher that is there; the commit can be seen from `shows` on, which nobody
    /// is told. How long after that it is looked for, in milliseconds.
    fn looked_after(grows: u64, starts: u64, shows: u64) -> u64 {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let mut now = at(starts);
        let mut told = grows < starts;
        let mut pace = Pace::new(now);
        loop {
            let until = now + pace.pause;
            if !told && at(grows) <= until {
                told = true;
                now = at(grows).max(now);
                pace.noticed(now);
                now += LOOK_MIN;
            } else {
                now = until;
                pace.unnoticed(now);
            }
            if now >= at(shows) {
                return u64::try_from(now.duration_since(at(shows)).as_millis()).unwrap();
            }
        }
    }

    #[test]
    fn a_commit_that_is_under_way_when_the_watch_begins_is_seen_as_soon_as_any() {
        let most = u64::try_from(UNSEEN_MAX.as_millis()).unwrap();
        for starts in 0..40 {
            for grows in 0..40 {
                for shows in grows.max(starts)..200 {
                    let after = looked_after(grows, starts, shows);
                    assert!(after <= most, "grows {grows}, starts {starts}, shows {shows}: {after} ms after");
                }
            }
        }
    }
}
