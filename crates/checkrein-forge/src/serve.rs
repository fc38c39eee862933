//! Git for people elsewhere: one fetch or push of theirs, answered by git itself over a pair of pipes.
//!
//! What it may touch is said from the outside, where neither the repository nor the other side can say
//! otherwise: a fetch sees branches, a push one branch, which only ever goes forward.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::branch::Branch;
use crate::error::ForgeError;
use crate::repository::Bare;

/// What the other side is served with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    Fetch,
    /// To one branch that is there.
    Push {
        onto: Branch,
    },
}

impl Service {
    /// Git's own name of it.
    pub const fn name(&self) -> &'static str {
        match self {
            Service::Fetch => "upload-pack",
            Service::Push { .. } => "receive-pack",
        }
    }
}

/// The two halves of a conversation: what there is, and what of it is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Advertise,
    Exchange,
}

/// A git that serves, until it is dropped.
#[derive(Debug)]
pub struct Served {
    /// What the other side says; none where it has nothing to say.
    pub input: Option<OwnedFd>,
    pub output: OwnedFd,
    pub ending: Ending,
}

/// Ends git with all it started when it is dropped. Git clears up behind itself if it is let.
#[derive(Debug)]
pub struct Ending {
    child: Option<Child>,
    grace: Duration,
}

/// Between being told to end and being killed.
const GRACE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(10);

impl Ending {
    /// It said its last word and ends by itself.
    pub fn is_done(mut self) {
        self.grace = GRACE;
    }
}

impl Bare {
    /// Starts git for one half of a conversation; `bytes_max` is the most that is pushed at once.
    pub fn serve(
        &self,
        service: &Service,
        part: Part,
        protocol: Option<&str>,
        bytes_max: u64,
    ) -> Result<Served, ForgeError> {
        let mut arguments: Vec<String> = Vec::new();
        for (key, value) in self.bounds(service, bytes_max) {
            arguments.extend(["-c".to_owned(), format!("{key}={value}")]);
        }
        arguments.extend([service.name().to_owned(), "--stateless-rpc".to_owned()]);
        if part == Part::Advertise {
            arguments.push("--http-backend-info-refs".to_owned());
        }
        if *service == Service::Fetch {
            arguments.push("--strict".to_owned());
        }
        let call = self.git().call(self.path(), arguments).arg(self.path());
        let mut command = call.env("GIT_PROTOCOL", protocol.unwrap_or_default()).into_command();
        self.start(&mut command, service, part)
    }

    fn start(&self, command: &mut Command, service: &Service, part: Part) -> Result<Served, ForgeError> {
        let failed = |reason: String| ForgeError::Git {
            command: service.name().to_owned(),
            directory: self.path().to_owned(),
            reason,
        };
        command.stdin(if part == Part::Exchange { Stdio::piped() } else { Stdio::null() });
        // What it complains about it tells the other side.
        command.stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let (input, output) = (child.stdin.take().map(OwnedFd::from), child.stdout.take());
        let ending = Ending { child: Some(child), grace: Duration::ZERO };
        let output = output.map(OwnedFd::from).ok_or_else(|| failed("it has no output".to_owned()))?;
        Ok(Served { input, output, ending })
    }

    fn bounds(&self, service: &Service, bytes_max: u64) -> Vec<(&'static str, String)> {
        let text = str::to_owned;
        match service {
            Service::Fetch => {
                vec![("uploadpack.hideRefs", text("refs")), ("uploadpack.hideRefs", text("!refs/heads"))]
            }
            // INVARIANT: the last one that fits counts, so of everything that is hidden one branch shows.
            // What is hidden cannot be pushed to.
            Service::Push { onto } => vec![
                ("receive.hideRefs", text("refs")),
                ("receive.hideRefs", format!("!{}", onto.reference())),
                ("receive.denyNonFastForwards", text("true")),
                ("receive.denyDeletes", text("true")),
                ("receive.fsckObjects", text("true")),
                ("receive.shallowUpdate", text("false")),
                ("receive.autogc", text("false")),
                ("receive.updateServerInfo", text("false")),
                ("receive.advertisePushOptions", text("false")),
                ("receive.maxInputSize", bytes_max.to_string()),
            ],
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let grace = self.grace;
        let end = move || {
            // INVARIANT: it is not waited for before, so its number belongs to nobody else.
            let pid = Pid::from_child(&child);
            if !ended_within(pid, grace) {
                let _ = rustix::process::kill_process_group(pid, Signal::TERM);
                ended_within(pid, GRACE);
            }
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
            let _ = child.wait();
        };
        // Where there is no thread, what it works on is gone at least: its pipes are closed.
        let _ = thread::Builder::new().name("checkrein-git-end".to_owned()).spawn(end);
    }
}

fn ended_within(pid: Pid, time: Duration) -> bool {
    let until = Instant::now() + time;
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        match rustix::process::waitid(WaitId::Pid(pid), look) {
            Ok(None) if Instant::now() < until => thread::sleep(LOOK_EVERY),
            Ok(None) => return false,
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}
