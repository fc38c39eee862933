//! The engine's end of the line to its supervisor.

use std::future::poll_fn;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::attempt::{Attempt, Ended};
use super::protocol::{Reply, Request, Run, line};
use super::{ProcessError, SUPERVISE, end_leftovers};

/// How long what a dead supervisor left may take to go.
const LEFTOVERS_MAX: Duration = Duration::from_secs(10);

/// A supervisor at work. Dropping it ends it, and with it what it runs.
pub struct Supervisor {
    /// Closing it tells the supervisor that nobody is there any more.
    requests: Arc<Mutex<ChildStdin>>,
    replies: mpsc::UnboundedReceiver<Reply>,
    /// The key of an attempt that has not ended, though nobody may wait for that any more.
    unfinished: Option<String>,
}

static OTHER_PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Says which program is a supervisor, where the one that runs now cannot be one: it is somebody else's,
/// or a test. The first word counts.
pub fn supervise_with(program: &Path) {
    let _ = OTHER_PROGRAM.set(program.to_owned());
}

/// The program that runs now, as a supervisor should be: the same one even if its file was replaced.
pub fn this_program() -> PathBuf {
    if let Some(other) = OTHER_PROGRAM.get() {
        return other.clone();
    }
    let linux = Path::new("/proc/self/exe");
    if linux.exists() { linux.to_owned() } else { std::env::current_exe().unwrap_or_default() }
}

impl Supervisor {
    /// Starts a supervisor that holds the lock until nothing of its attempts is alive.
    pub async fn start(program: &Path, lock: &Path) -> Result<Supervisor, ProcessError> {
        Supervisor::start_for(program, lock, None).await
    }

    /// The same for an engine that says now and then that it is there, which it does from the beginning.
    pub async fn start_for(
        program: &Path,
        lock: &Path,
        silent_max: Option<Duration>,
    ) -> Result<Supervisor, ProcessError> {
        let not_started = |source| ProcessError::NotStarted { program: program.to_owned(), source };
        // Its own group: an interrupt at the terminal is for the engine, which then decides what ends.
        let mut child = Command::new(program)
            .arg0("checkrein")
            .arg(SUPERVISE)
            .arg(lock)
            .args(silent_max.map(|silent| silent.as_millis().to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(not_started)?;
        let (Some(requests), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(not_started(std::io::ErrorKind::BrokenPipe.into()));
        };
        let (told, replies) = mpsc::unbounded_channel();
        let listen = move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let Ok(reply) = serde_json::from_slice(&line) else { break };
                if told.send(reply).is_err() {
                    break;
                }
            }
            drop(told);
            let _ = child.wait();
        };
        thread::Builder::new().name("checkrein-hear".to_owned()).spawn(listen).map_err(not_started)?;
        let requests = Arc::new(Mutex::new(requests));
        let mut supervisor = Supervisor { requests, replies, unfinished: None };
        match supervisor.replies.recv().await {
            Some(Reply::Ready) => Ok(supervisor),
            Some(Reply::Locked) => Err(ProcessError::Locked { path: lock.to_owned() }),
            Some(Reply::Refused { reason }) => Err(ProcessError::Refused { reason }),
            Some(Reply::Started { .. } | Reply::Ended(_)) | None => {
                Err(not_started(std::io::ErrorKind::UnexpectedEof.into()))
            }
        }
    }

    /// Runs an attempt until nothing of it is alive. When `stop` is ready first, it is told to end.
    pub async fn run(
        &mut self,
        attempt: &Attempt,
        stop: impl Future<Output = ()>,
    ) -> Result<Ended, ProcessError> {
        // An attempt whose caller went away must end before the next one begins.
        if let Some(key) = self.unfinished.clone() {
            self.end(&key, std::future::ready(())).await?;
        }
        self.send(&Request::Run(Box::new(Run::from(attempt))));
        self.unfinished = Some(attempt.key.clone());
        self.end(&attempt.key, stop).await
    }

    async fn end(&mut self, key: &str, stop: impl Future<Output = ()>) -> Result<Ended, ProcessError> {
        let mut stop = pin!(stop);
        let mut stopped = false;
        loop {
            let reply = poll_fn(|context| {
                if !stopped && stop.as_mut().poll(context).is_ready() {
                    stopped = true;
                    self.send(&Request::Stop);
                }
                self.replies.poll_recv(context)
            });
            match reply.await {
                Some(Reply::Ended(ended)) => {
                    self.unfinished = None;
                    return Ok(ended);
                }
                Some(_) => {}
                None => return Err(gone(key).await),
            }
        }
    }

    /// What lets another thread say that the engine is there.
    pub fn pulse(&self) -> Pulse {
        Pulse(Arc::downgrade(&self.requests))
    }

    /// A supervisor that does not hear it is dead, and then it says nothing either.
    fn send(&mut self, request: &Request) {
        let _ = self.requests.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line(request));
    }
}

/// Says to a supervisor that its engine is there. Once it was said, a supervisor that is not told again in time
/// ends what it runs, and itself: its engine may stand still while somebody else goes on with the run.
#[derive(Clone, Debug)]
pub struct Pulse(Weak<Mutex<ChildStdin>>);

impl Pulse {
    pub fn beat(&self, left: Duration) {
        if let Some(requests) = self.0.upgrade() {
            let ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
            let said = line(&Request::Alive { ms });
            let _ = requests.lock().unwrap_or_else(PoisonError::into_inner).write_all(&said);
        }
    }

    /// Whether there is still somebody to hear it.
    pub fn is_heard(&self) -> bool {
        self.0.strong_count() > 0
    }
}

/// The supervisor died under an attempt; what is left of that has nobody else to end it.
async fn gone(key: &str) -> ProcessError {
    let (done, ended) = oneshot::channel();
    let key = key.to_owned();
    thread::spawn(move || done.send(end_leftovers(&key, LEFTOVERS_MAX)));
    match ended.await {
        Ok(Ok(ended)) => ProcessError::SupervisorGone { ended },
        Ok(Err(error)) => error,
        Err(_) => ProcessError::SupervisorGone { ended: 0 },
    }
}
