//! Starts the main process of an attempt, in a group of its own and with its streams in place.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Pid;

use super::ATTEMPT;
use super::attempt::{Attempt, Stdin};
use super::capture::Capture;
use super::os;
use super::redact::{Redactor, Secrets};
use super::stream::Stream;

pub(super) struct Spawned {
    pub main: Pid,
    pub stdout: Stream,
    pub stderr: Stream,
}

/// Starts it, or says in words why that cannot be.
pub(super) fn spawn(attempt: &Attempt) -> Result<Spawned, String> {
    let Some((program, arguments)) = attempt.argv.split_first() else {
        return Err("there is no program to run".to_owned());
    };
    let secrets = Secrets::new(attempt.secrets.iter().cloned())
        .map_err(|error| format!("the secrets cannot be looked for: {error}"))?;
    let (stdout, stdout_end) = open(&attempt.stdout, attempt.bytes_max, &secrets)?;
    let (stderr, stderr_end) = open(&attempt.stderr, attempt.bytes_max, &secrets)?;
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(attempt.env.iter().map(|(name, value)| (name, value)))
        .env(ATTEMPT, &attempt.key)
        .current_dir(&attempt.cwd)
        .stdin(input(&attempt.stdin)?)
        .stdout(stdout_end)
        .stderr(stderr_end)
        .process_group(0)
        .spawn()
        .map_err(|error| not_spawned(program, &attempt.cwd, &error))?;
    Ok(Spawned { main: Pid::from_child(&child), stdout, stderr })
}

/// A stream into the file, and the end of it that the attempt writes to.
fn open(path: &Path, bytes_max: usize, secrets: &Secrets) -> Result<(Stream, io::PipeWriter), String> {
    let failed = |error: io::Error| format!("`{}` cannot be written: {error}", path.display());
    let capture = Capture::create(path, bytes_max).map_err(failed)?;
    let (reader, writer) = io::pipe().map_err(failed)?;
    let stream = Stream::new(reader.into(), Redactor::new(secrets.clone()), capture);
    Ok((stream.map_err(|error| failed(error.into()))?, writer))
}

fn input(stdin: &Stdin) -> Result<Stdio, String> {
    match stdin {
        Stdin::Nothing => Ok(Stdio::null()),
        // From a file nobody has to feed it, and nobody waits for one that does not read.
        Stdin::Text(text) => os::file_of(text)
            .map(Stdio::from)
            .map_err(|error| format!("the input cannot be handed over: {error}")),
        Stdin::File(path) => File::open(path)
            .map(Stdio::from)
            .map_err(|error| format!("the input `{}` cannot be read: {error}", path.display())),
    }
}

/// The system says the same about a missing program and a missing directory.
fn not_spawned(program: &OsStr, cwd: &Path, error: &io::Error) -> String {
    match std::fs::metadata(cwd) {
        Err(error) => format!("the working directory `{}` cannot be used: {error}", cwd.display()),
        Ok(found) if !found.is_dir() => format!("the working directory `{}` is none", cwd.display()),
        Ok(_) => format!("`{}` cannot be run: {error}", program.display()),
    }
}
