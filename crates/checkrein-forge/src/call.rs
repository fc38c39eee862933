//! One run of the git program: bounded in time and in what it prints, and ended with all it started.

use std::ffi::OsStr;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::error::ForgeError;

const OUTPUT_BYTES: usize = 256 << 20;
const COMPLAINT_BYTES: usize = 16 << 10;

pub(crate) struct Call {
    command: Command,
    /// The first argument, for what is said about the call.
    name: String,
    directory: PathBuf,
    timeout: Duration,
    stop: Stop,
    output_bytes: usize,
}

/// Ends calls of git that are under way, and those that would begin after it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What came of a call that ended by itself, or was cut off where it had printed enough.
pub(crate) struct Answer {
    pub code: i32,
    pub output: Vec<u8>,
    pub complaint: String,
    pub cut: bool,
}

impl Call {
    pub fn new(program: &Path, directory: &Path, timeout: Duration, stop: Stop) -> Call {
        let mut command = Command::new(program);
        command.env_clear().current_dir(directory).process_group(0);
        let directory = directory.to_owned();
        Call { command, name: String::new(), directory, timeout, stop, output_bytes: OUTPUT_BYTES }
    }

    pub fn args<I, S>(mut self, arguments: I) -> Call
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        for argument in arguments {
            if self.name.is_empty() {
                self.name = argument.as_ref().to_string_lossy().into_owned();
            }
            self.command.arg(argument);
        }
        self
    }

    pub fn arg(self, argument: impl AsRef<OsStr>) -> Call {
        self.args([argument])
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Call {
        self.command.env(name, value);
        self
    }

    pub fn envs<N: AsRef<OsStr>, V: AsRef<OsStr>>(mut self, pairs: impl IntoIterator<Item = (N, V)>) -> Call {
        self.command.envs(pairs);
        self
    }

    /// For what may be lost with the machine: nobody waits for the disk.
    pub fn unsynced(self) -> Call {
        self.env("GIT_CONFIG_PARAMETERS", "'core.fsync'='none'")
    }

    pub fn output_bytes(mut self, limit: usize) -> Call {
        self.output_bytes = limit;
        self
    }

    /// The command itself, for whoever looks after it in another way.
    pub fn into_command(self) -> Command {
        self.command
    }

    /// The output of a call that has to succeed.
    pub fn run(self) -> Result<Vec<u8>, ForgeError> {
        self.run_with(Vec::new())
    }

    pub fn run_with(self, input: Vec<u8>) -> Result<Vec<u8>, ForgeError> {
        let (output, ()) = self.feed(move |sink| Ok(sink.write_all(&input)?))?;
        Ok(output)
    }

    /// Lets a function write the input while git reads it.
    pub fn feed<T: Send>(
        self,
        write: impl FnOnce(&mut dyn Write) -> Result<T, Fed> + Send,
    ) -> Result<(Vec<u8>, T), ForgeError> {
        let (place, limit) = (self.place(), self.output_bytes);
        let (answer, fed) = self.execute(write)?;
        if answer.cut {
            return Err(ForgeError::TooMuchOutput { command: place.0, directory: place.1, limit });
        }
        match fed {
            Err(Fed::Error(error)) => Err(error),
            Ok(value) if answer.code == 0 => Ok((answer.output, value)),
            Ok(_) | Err(Fed::Pipe) => Err(answer.failure(place)),
        }
    }

    /// What a call says whose exit code is an answer too.
    pub fn answer(self) -> Result<Answer, ForgeError> {
        Ok(self.execute(|_| Ok(()))?.0)
    }

    pub fn answer_to(self, input: Vec<u8>) -> Result<Answer, ForgeError> {
        Ok(self.execute(move |sink| Ok(sink.write_all(&input)?))?.0)
    }

    /// Command and directory, for what is said about it.
    pub fn place(&self) -> (String, PathBuf) {
        (self.name.clone(), self.directory.clone())
    }

    fn execute<T: Send>(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> Result<T, Fed> + Send,
    ) -> Result<(Answer, Result<T, Fed>), ForgeError> {
        let (command, directory) = self.place();
        let failed = |error: io::Error| ForgeError::Git {
            command: command.clone(),
            directory: directory.clone(),
            reason: error.to_string(),
        };
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().map_err(failed)?;
        let ended =
            attend(&mut child, (self.timeout, &self.stop), self.output_bytes, write).map_err(failed)?;
        match ended.cut_short {
            Some(CutShort::Late) => {
                return Err(ForgeError::TimedOut { command, directory, seconds: self.timeout.as_secs() });
            }
            Some(CutShort::Stopped) => return Err(ForgeError::Stopped { command, directory }),
            None => {}
        }
        Ok((ended.answer, ended.fed))
    }
}

/// Why the input was not written to its end.
pub(crate) enum Fed {
    /// Git does not read any more; its own words say why.
    Pipe,
    Error(ForgeError),
}

impl From<io::Error> for Fed {
    fn from(_: io::Error) -> Fed {
        Fed::Pipe
    }
}

impl From<ForgeError> for Fed {
    fn from(error: ForgeError) -> Fed {
        Fed::Error(error)
    }
}

impl Answer {
    pub fn failure(self, (command, directory): (String, PathBuf)) -> ForgeError {
        let reason = match self.complaint.trim() {
            "" => format!("it ended with exit code {}", self.code),
            said => said.to_owned(),
        };
        ForgeError::Git { command, directory, reason }
    }
}

struct Ended<T> {
    answer: Answer,
    fed: Result<T, Fed>,
    cut_short: Option<CutShort>,
}

/// Why git was ended before it was done.
#[derive(Clone, Copy)]
enum CutShort {
    Late,
    Stopped,
}

/// How often a call looks whether it is to stop.
const STOP_EVERY: Duration = Duration::from_millis(100);

fn attend<T: Send>(
    child: &mut Child,
    (timeout, stop): (Duration, &Stop),
    output_bytes: usize,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Fed> + Send,
) -> io::Result<Ended<T>> {
    let pid = Pid::from_child(child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let (done, waits) = mpsc::channel::<()>();
        let watch = scope.spawn(move || {
            let begun = Instant::now();
            loop {
                let left = timeout.saturating_sub(begun.elapsed());
                let cut_short = match (stop.is_stopped(), left.is_zero()) {
                    (true, _) => CutShort::Stopped,
                    (_, true) => CutShort::Late,
                    _ if waits.recv_timeout(left.min(STOP_EVERY)) == Err(RecvTimeoutError::Timeout) => {
                        continue;
                    }
                    _ => return None,
                };
                end(pid);
                return Some(cut_short);
            }
        });
        let feeder = scope.spawn(move || feed_all(stdin, write));
        let complaint =
            scope.spawn(move || stderr.map_or_else(Vec::new, |pipe| read_start(pipe, COMPLAINT_BYTES)));
        let (output, cut) = match stdout {
            Some(pipe) => read_bounded(pipe, output_bytes)?,
            None => (Vec::new(), false),
        };
        if cut {
            end(pid);
        }
        // The number is not free for another process before the watch is over.
        let waited = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let fed = feeder.join().unwrap_or(Err(Fed::Pipe));
        let complaint = complaint.join().unwrap_or_default();
        drop(done);
        let cut_short = watch.join().unwrap_or(None);
        waited?;
        let code = child.wait()?.code().unwrap_or(-1);
        let complaint = String::from_utf8_lossy(&complaint).into_owned();
        Ok(Ended { answer: Answer { code, output, complaint, cut }, fed, cut_short })
    })
}

/// Ends git and everything it started.
fn end(pid: Pid) {
    // It may have ended by itself just now, which is as good.
    let _ = rustix::process::kill_process_group(pid, Signal::KILL);
}

fn feed_all<T>(
    stdin: Option<impl Write>,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Fed>,
) -> Result<T, Fed> {
    let Some(stdin) = stdin else {
        return Err(Fed::Pipe);
    };
    let mut sink = BufWriter::with_capacity(64 << 10, stdin);
    let value = write(&mut sink);
    match value {
        // A git that read enough has closed its end, and its exit code tells whether that was right.
        Ok(value) => match sink.flush() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Fed::Pipe),
            _ => Ok(value),
        },
        Err(error) => Err(error),
    }
}

fn read_bounded(mut pipe: impl Read, limit: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut output = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    pipe.by_ref().take(most).read_to_end(&mut output)?;
    let cut = output.len() > limit;
    output.truncate(limit);
    Ok((output, cut))
}

/// Keeps the start and reads on to the end, so that nobody is stuck with a full pipe.
fn read_start(mut pipe: impl Read, limit: usize) -> Vec<u8> {
    let mut start = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX);
    if pipe.by_ref().take(most).read_to_end(&mut start).is_ok() {
        let _ = io::copy(&mut pipe, &mut io::sink());
    }
    start
}
