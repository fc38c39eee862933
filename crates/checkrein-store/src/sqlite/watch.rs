//! Notices what other processes commit, without asking the disk over and over.
//!
//! SQLite tells nobody. But a commit appends to the write-ahead log, which the kernel reports, and
//! `data_version` says whether it was somebody else's.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::watch;

use crate::StoreError;

/// How long a commit may go unseen where the kernel reports nothing.
const UNSEEN_MAX: Duration = Duration::from_millis(25);
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
        let notices = path.parent().and_then(|directory| inotify(directory).ok());
        thread::Builder::new()
            .name("checkrein-watch".to_owned())
            .spawn(move || {
                let mut seen = version(&connection);
                while !stop.load(Ordering::Relaxed) {
                    match &notices {
                        Some(notices) => wait(notices, CLOSING_MAX),
                        None => thread::sleep(UNSEEN_MAX),
                    }
                    let now = version(&connection);
                    if now != seen {
                        seen = now;
                        changed.send_modify(|count| *count += 1);
                    }
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

/// Changes when another connection has committed.
fn version(connection: &Connection) -> Option<i64> {
    let mut statement = connection.prepare_cached("PRAGMA data_version").ok()?;
    statement.query_row([], |row| row.get(0)).ok()
}

#[cfg(target_os = "linux")]
fn inotify(directory: &Path) -> Result<OwnedFd, rustix::io::Errno> {
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    let notices = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    inotify::add_watch(&notices, directory, WatchFlags::MODIFY | WatchFlags::CREATE)?;
    Ok(notices)
}

#[cfg(not(target_os = "linux"))]
fn inotify(_: &Path) -> Result<OwnedFd, rustix::io::Errno> {
    Err(rustix::io::Errno::NOSYS)
}

/// Waits for a notice and takes all there are.
fn wait(notices: &OwnedFd, at_most: Duration) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let timeout = Timespec { tv_sec: 0, tv_nsec: at_most.subsec_nanos().into() };
    let mut ready = [PollFd::new(notices, PollFlags::IN)];
    if poll(&mut ready, Some(&timeout)).is_err() {
        thread::sleep(UNSEEN_MAX);
    }
    let mut buffer = [0_u8; 4096];
    while rustix::io::read(notices, &mut buffer).is_ok_and(|read| read > 0) {}
}
