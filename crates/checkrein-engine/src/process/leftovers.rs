//! Ends what an attempt left behind when engine and supervisor were both killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::descendants::{descendants, own, processes};
use super::{ATTEMPT, ProcessError};

/// The time between being told to end and being killed, for what should not be there at all.
pub(super) const SHORT_GRACE: Duration = Duration::from_millis(200);

const PAUSE_MAX: Duration = Duration::from_millis(20);

/// Ends all processes that carry the key in their environment, and those below them, and waits until they
/// are gone; how many there were. It does not find what hid its environment and lost its parents, nor
/// what belongs to another user.
pub fn end_leftovers(key: &str, patience: Duration) -> Result<usize, ProcessError> {
    let began = Instant::now();
    let mut seen = BTreeSet::new();
    let mut pause = Duration::from_millis(1);
    loop {
        let found = leftovers(key)?;
        if found.is_empty() {
            return Ok(seen.len());
        }
        if began.elapsed() > patience.max(SHORT_GRACE * 2) {
            return Err(ProcessError::StillAlive { key: key.to_owned(), pids: found.into_keys().collect() });
        }
        for (pid, mark) in found {
            if began.elapsed() >= SHORT_GRACE {
                signal(pid, mark, key, Signal::KILL);
            } else if !seen.contains(&pid) {
                signal(pid, mark, key, Signal::TERM);
            }
            seen.insert(pid);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// By what a process was found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Key,
    Descent,
}

fn leftovers(key: &str) -> Result<BTreeMap<i32, Mark>, ProcessError> {
    let all = processes().map_err(ProcessError::NoProcesses)?;
    let own = own();
    let marked = all.iter().filter(|process| process.pid != own && carries(process.pid, key));
    let marked: Vec<i32> = marked.map(|process| process.pid).collect();
    let below = descendants(&all, marked.iter().copied());
    let below = below.iter().filter(|process| process.pid != own && !process.zombie);
    let mut found: BTreeMap<i32, Mark> = below.map(|process| (process.pid, Mark::Descent)).collect();
    found.extend(marked.into_iter().map(|pid| (pid, Mark::Key)));
    Ok(found)
}

/// A process that is dead has no environment any more, and one of another user hides it.
fn carries(pid: i32, key: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    environment.split(|byte| *byte == 0).any(|variable| {
        let value = variable.strip_prefix(ATTEMPT.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value == Some(key.as_bytes())
    })
}

#[cfg(target_os = "linux")]
fn signal(pid: i32, mark: Mark, key: &str, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(pid) else { return };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // The number may have gone to another process in between; from here on it cannot.
    if mark == Mark::Descent || carries(pid.as_raw_nonzero().get(), key) {
        let _ = pidfd_send_signal(process, signal);
    }
}

#[cfg(not(target_os = "linux"))]
fn signal(pid: i32, _: Mark, _: &str, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn start(key: &str, script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env(ATTEMPT, key).spawn().unwrap()
    }

    fn unique(name: &str) -> String {
        format!("{name}-{}", std::process::id())
    }

    #[test]
    fn processes_of_the_attempt_are_ended_and_no_others() {
        let (key, other) = (unique("mine"), unique("mine-too"));
        let mut stranger = start(&other, "sleep 60");
        let mut stubborn = start(&key, "trap '' TERM; sleep 60 & sleep 60; sleep 60");
        let mut bare = start(&key, "env -i sleep 60; true");
        thread::sleep(Duration::from_millis(100));
        // They are children of this process, which has to collect them.
        let collector = thread::spawn(move || (stubborn.wait().unwrap(), bare.wait().unwrap()));
        let ended = end_leftovers(&key, Duration::from_secs(10)).unwrap();
        assert!(ended >= 5, "{ended}");
        let (stubborn, bare) = collector.join().unwrap();
        assert!(!stubborn.success() && !bare.success());
        assert!(stranger.try_wait().unwrap().is_none(), "a stranger was ended");
        assert_eq!(end_leftovers(&key, Duration::ZERO).unwrap(), 0);
        assert!(end_leftovers(&other, Duration::from_secs(10)).unwrap() >= 1);
        stranger.wait().unwrap();
    }
}
