//! One attempt from its start until nothing of it is alive.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::attempt::{Attempt, Captured, Ended, Exit, Why};
use super::descendants::{signal_descendants, survivors};
use super::leftovers::SHORT_GRACE;
use super::os;
use super::protocol::{Reply, milliseconds};
use super::spawn::{Spawned, spawn};
use super::stream::{PIECE_BYTES, Stream};
use super::supervisor::Inbox;

/// The time an attempt has to end by itself when its engine is gone.
const ABANDONED_GRACE: Duration = Duration::from_millis(500);
/// A clock cannot add just anything.
const GRACE_MAX: Duration = Duration::from_hours(24);
/// After so long nothing that was killed will go any more: it hangs in the kernel or is another user's.
const DEATH_MAX: Duration = Duration::from_secs(10);
/// How often orphans that died are collected while the attempt goes on.
const COLLECT_EVERY: Duration = Duration::from_secs(1);
/// How often is looked where the kernel gives no notice.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const LOOK_FIRST: Duration = Duration::from_millis(1);
/// How much is taken from a stream before anything else gets its turn, and at the very end.
const TURN_PIECES: usize = 16;
const LAST_PIECES: usize = 64;

/// Runs it to its end; `reply` hears when it has started.
pub(super) fn run(attempt: &Attempt, inbox: &mut Inbox, reply: &mut impl FnMut(&Reply)) -> Ended {
    let began = Instant::now();
    let mut running = match Running::start(attempt) {
        Ok(running) => running,
        Err(reason) => {
            return Ended {
                why: Why::SpawnFailed { reason },
                exit: None,
                duration_ms: milliseconds(began.elapsed()),
                stdout: Captured::default(),
                stderr: Captured::default(),
                survivors: Vec::new(),
            };
        }
    };
    reply(&Reply::Started { pid: running.main.as_raw_nonzero().get() });
    let why = running.work(inbox);
    let duration_ms = milliseconds(began.elapsed());
    let survivors = running.sweep(inbox);
    running.finish(why, duration_ms, survivors)
}

struct Running<'a> {
    attempt: &'a Attempt,
    /// The process that was started, the leader of its group.
    main: Pid,
    /// INVARIANT: as long as this is none, `main` is not collected and its number nobody else's.
    exit: Option<Exit>,
    /// Becomes readable when `main` ends.
    notice: Option<OwnedFd>,
    stdout: Stream,
    stderr: Stream,
    buffer: Vec<u8>,
    began: Instant,
    /// When there was output last.
    heard_at: Instant,
    collected_at: Instant,
}

/// Where an attempt is with regard to its end.
#[derive(Clone, Copy)]
enum Course {
    Working,
    /// It was told.
    Ending {
        kill_at: Instant,
    },
    Killed {
        at: Instant,
    },
}

#[derive(PartialEq, Eq)]
enum Children {
    Some,
    None,
}

enum Source {
    Inbox,
    Stdout,
    Stderr,
    Notice,
}

impl Running<'_> {
    fn start(attempt: &Attempt) -> Result<Running<'_>, String> {
        let began = Instant::now();
        let Spawned { main, stdout, stderr } = spawn(attempt)?;
        Ok(Running {
            attempt,
            main,
            exit: None,
            notice: os::exit_notice(main),
            stdout,
            stderr,
            buffer: vec![0; PIECE_BYTES],
            began,
            heard_at: began,
            collected_at: began,
        })
    }

    /// Until the main process has ended, or cannot be ended.
    fn work(&mut self, inbox: &mut Inbox) -> Why {
        let mut why = None;
        let mut abandoned = false;
        let mut course = Course::Working;
        loop {
            let noticed = self.wait(inbox, self.wake_at(course));
            let now = Instant::now();
            if noticed || self.notice.is_none() || now >= self.collected_at + COLLECT_EVERY {
                self.collect();
                if self.exit.is_some() {
                    return why.unwrap_or(Why::Exited);
                }
            }
            let stop = inbox.stop();
            if (!inbox.is_open() || inbox.is_lapsed()) && !abandoned {
                abandoned = true;
                why.get_or_insert(Why::Stopped);
                signal_descendants(Signal::TERM);
                let soon = now + ABANDONED_GRACE;
                course = match course {
                    Course::Working => Course::Ending { kill_at: soon },
                    Course::Ending { kill_at } => Course::Ending { kill_at: kill_at.min(soon) },
                    Course::Killed { at } => Course::Killed { at },
                };
            }
            match course {
                Course::Working => {
                    why = if stop { Some(Why::Stopped) } else { self.overdue(now) };
                    if why.is_some() {
                        self.signal(Signal::TERM);
                        course = Course::Ending { kill_at: now + self.attempt.grace.min(GRACE_MAX) };
                    }
                }
                Course::Ending { kill_at } if now >= kill_at => {
                    self.signal(Signal::KILL);
                    if abandoned {
                        signal_descendants(Signal::KILL);
                    }
                    course = Course::Killed { at: now };
                }
                Course::Killed { at } if inbox.is_open() && now >= at + DEATH_MAX => {
                    return why.unwrap_or(Why::Exited);
                }
                Course::Ending { .. } | Course::Killed { .. } => {}
            }
        }
    }

    /// Ends what the main process left behind; those that would not go.
    fn sweep(&mut self, inbox: &mut Inbox) -> Vec<i32> {
        if self.collect() == Children::None {
            return Vec::new();
        }
        let began = Instant::now();
        let kill_at = began + SHORT_GRACE;
        let mut pause = LOOK_FIRST;
        signal_descendants(Signal::TERM);
        while self.collect() == Children::Some {
            let now = Instant::now();
            if now >= kill_at {
                signal_descendants(Signal::KILL);
            }
            // Without an engine nobody could be told; then the lock has to say it for as long as it is so.
            if now >= began + DEATH_MAX && inbox.is_open() {
                return survivors();
            }
            let soon = now + pause;
            self.wait(inbox, Some(if now < kill_at { soon.min(kill_at) } else { soon }));
            inbox.stop();
            pause = (pause * 2).min(LOOK_EVERY);
        }
        Vec::new()
    }

    fn finish(mut self, why: Why, duration_ms: u64, survivors: Vec<i32>) -> Ended {
        // Somebody outside may have been handed a stream and keep it open: only what is there counts.
        self.stdout.drain(&mut self.buffer, LAST_PIECES);
        self.stderr.drain(&mut self.buffer, LAST_PIECES);
        Ended {
            why,
            exit: self.exit,
            duration_ms,
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
            survivors,
        }
    }

    /// Sleeps until somebody says something, the main process ends, or it is time; takes what is said.
    /// Whether the main process ended.
    fn wait(&mut self, inbox: &mut Inbox, until: Option<Instant>) -> bool {
        let timeout = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let stdin = io::stdin();
        let sources = [
            (Source::Inbox, inbox.is_open().then(|| stdin.as_fd())),
            (Source::Stdout, self.stdout.open()),
            (Source::Stderr, self.stderr.open()),
            (Source::Notice, self.notice.as_ref().filter(|_| self.exit.is_none()).map(AsFd::as_fd)),
        ];
        let (sources, mut polled): (Vec<Source>, Vec<PollFd<'_>>) = sources
            .into_iter()
            .filter_map(|(source, fd)| Some((source, PollFd::from_borrowed_fd(fd?, PollFlags::IN))))
            .unzip();
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return false,
            Err(_) => thread::sleep(LOOK_EVERY),
        }
        let ready = polled.iter().map(|polled| !polled.revents().is_empty()).collect::<Vec<_>>();
        let mut noticed = false;
        for (source, _) in sources.into_iter().zip(ready).filter(|(_, ready)| *ready) {
            match source {
                Source::Inbox => inbox.fill(),
                Source::Stdout | Source::Stderr => {
                    let stdout = matches!(source, Source::Stdout);
                    let stream = if stdout { &mut self.stdout } else { &mut self.stderr };
                    if stream.drain(&mut self.buffer, TURN_PIECES) {
                        self.heard_at = Instant::now();
                    }
                }
                Source::Notice => noticed = true,
            }
        }
        noticed
    }

    /// When there is something to do even if nobody says anything.
    fn wake_at(&self, course: Course) -> Option<Instant> {
        let now = Instant::now();
        let due = match course {
            Course::Working => [
                self.attempt.wall.and_then(|wall| self.began.checked_add(wall)),
                self.attempt.idle.and_then(|idle| self.heard_at.checked_add(idle)),
            ],
            Course::Ending { kill_at } => [Some(kill_at), None],
            Course::Killed { at } => [Some((at + DEATH_MAX).max(now + LOOK_EVERY)), None],
        };
        let look = if self.notice.is_none() { LOOK_EVERY } else { COLLECT_EVERY };
        due.into_iter().flatten().chain([now + look]).min()
    }

    /// Whether a time is up.
    fn overdue(&self, now: Instant) -> Option<Why> {
        let up = |since: Instant, max: Option<Duration>| {
            max.is_some_and(|max| now.saturating_duration_since(since) >= max)
        };
        if up(self.began, self.attempt.wall) {
            Some(Why::WallTimeout)
        } else if up(self.heard_at, self.attempt.idle) {
            Some(Why::IdleTimeout)
        } else {
            None
        }
    }

    /// To the group of the main process, and to that one also if it has left its group.
    fn signal(&self, signal: Signal) {
        if self.exit.is_some() {
            return;
        }
        let _ = rustix::process::kill_process_group(self.main, signal);
        if rustix::process::getpgid(Some(self.main)) != Ok(self.main) {
            let _ = rustix::process::kill_process(self.main, signal);
        }
    }

    /// Takes note of children that have ended. As orphans are adopted, no children means no descendants.
    fn collect(&mut self) -> Children {
        self.collected_at = Instant::now();
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.main && self.exit.is_none() => {
                    self.exit = exit(status);
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Children::Some,
                Err(_) => return Children::None,
            }
        }
    }
}

pub(super) fn exit(status: WaitStatus) -> Option<Exit> {
    let code = status.exit_status().map(Exit::Code);
    code.or_else(|| status.terminating_signal().map(Exit::Signal))
}
