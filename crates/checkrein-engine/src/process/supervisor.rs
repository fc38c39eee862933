//! The process between an engine and its attempts: it outlives the engine until nothing of an attempt is
//! alive, and not longer.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, getppid, setpgid, setsid};

use super::attempt::Attempt;
use super::protocol::{Reply, Request, line};
use super::{ProcessError, descendants, lock, os, running};

/// Does what the engine says on standard input until that closes, or until the engine was silent for too long.
pub fn supervise(lock: &Path, silent_max: Option<Duration>) -> ExitCode {
    let began = Instant::now();
    leave_the_terminal();
    let refused = |reason: String| {
        say(&Reply::Refused { reason });
        ExitCode::FAILURE
    };
    if let Err(error) = os::adopt_orphans() {
        return refused(error.to_string());
    }
    let _lock = match lock::try_lock(lock) {
        Ok(lock) => lock,
        Err(ProcessError::Locked { .. }) => {
            say(&Reply::Locked);
            return ExitCode::FAILURE;
        }
        Err(error) => return refused(error.to_string()),
    };
    say(&Reply::Ready);
    let mut inbox = Inbox::new();
    inbox.until = silent_max.and_then(|silent| began.checked_add(silent));
    while let Some(attempt) = inbox.next_attempt() {
        let ended = running::run(&attempt, &mut inbox, &mut say);
        say(&Reply::Ended(ended));
        // Who stands still must not keep the lock from others.
        if inbox.is_lapsed() {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// What the engine says.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    /// So many of them are known to have no end of a line.
    searched: usize,
    open: bool,
    /// When the engine is taken for dead, once it has said how long it may be silent.
    until: Option<Instant>,
}

impl Inbox {
    fn new() -> Inbox {
        Inbox { bytes: Vec::new(), searched: 0, open: true, until: None }
    }

    /// Whether the engine is still there.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether the engine was silent for longer than it may be.
    pub fn is_lapsed(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Waits for something, or until the engine is taken for dead; whether there is something.
    fn wait(&self) -> bool {
        let stdin = io::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        poll(&mut polled, left.as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// Waits for something, and takes it.
    pub fn fill(&mut self) {
        let mut piece = [0; 64 << 10];
        match rustix::io::read(io::stdin(), &mut piece) {
            Ok(bytes) if bytes > 0 => self.bytes.extend_from_slice(piece.get(..bytes).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(_) | Err(_) => self.open = false,
        }
    }

    /// Whether the attempt that runs is to be stopped.
    pub fn stop(&mut self) -> bool {
        loop {
            match self.next() {
                Some(Request::Stop) => return true,
                Some(Request::Alive { ms }) => self.hear(ms),
                // Nobody who knows the rules asks for a second attempt during the first.
                Some(Request::Run(_)) => {
                    self.open = false;
                    return false;
                }
                None => return false,
            }
        }
    }

    fn hear(&mut self, ms: u64) {
        self.until = Instant::now().checked_add(Duration::from_millis(ms));
    }

    fn next_attempt(&mut self) -> Option<Attempt> {
        while self.open {
            if self.is_lapsed() {
                return None;
            }
            match self.next() {
                Some(Request::Run(run)) => return Some(Attempt::from(*run)),
                // The attempt ended before it was stopped.
                Some(Request::Stop) => {}
                Some(Request::Alive { ms }) => self.hear(ms),
                None => {
                    if self.wait() {
                        self.fill();
                    }
                }
            }
        }
        None
    }

    /// The next line, if it is complete. Who writes nonsense is not the engine.
    fn next(&mut self) -> Option<Request> {
        let new = self.bytes.get(self.searched..).unwrap_or_default();
        let Some(end) = new.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.bytes.len();
            return None;
        };
        let rest = self.bytes.split_off(self.searched + end + 1);
        let line = std::mem::replace(&mut self.bytes, rest);
        self.searched = 0;
        let request = serde_json::from_slice(&line).ok();
        self.open &= request.is_some();
        request
    }
}

/// Nobody hears it when the engine is gone, and then standard input says so too.
fn say(reply: &Reply) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(&line(reply)).and_then(|()| stdout.flush());
}

/// Begins a session without a terminal: what is typed there does not reach this process or an attempt, and
/// a program that asks the terminal for a password fails instead of waiting for ever.
fn leave_the_terminal() {
    if setsid().is_ok() {
        return;
    }
    // Who leads a group cannot begin a session, and this process was started in a group of its own so that
    // no signal from the terminal reaches it before it is here. Where the group of its parent cannot be
    // named, as in a namespace of processes whose beginner is outside, the group has to do.
    let parent = getppid().and_then(descendants::look);
    let group = parent.and_then(|parent| Pid::from_raw(parent.group));
    if group.is_some() && setpgid(None, group).is_ok() {
        let _ = setsid();
    }
}
