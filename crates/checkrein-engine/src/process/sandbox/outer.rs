//! The process outside: it makes the namespaces, starts the first process in them, and ends as that does.

use std::ffi::OsString;
use std::fs;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use nix::sched::{CloneFlags, unshare};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{DumpableBehavior, Pid, getegid, geteuid, kill_process, set_dumpable_behavior};

use super::call::{Inner, parse};
use super::cgroup::Cgroup;
use super::error::SandboxError;
use super::tend::{listen, tend};
use super::{Namespaces, SANDBOXED, Sandbox, privileges};
use crate::process::attempt::Exit;
use crate::process::this_program;

/// Runs the command that the arguments name in the sandbox they describe.
pub fn sandbox(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match parse(arguments).and_then(|(sandbox, argv)| run(sandbox, argv)) {
        Ok(exit) => leave(exit),
        Err(error) => error.report(),
    }
}

fn run(sandbox: Sandbox, argv: Vec<OsString>) -> Result<Exit, SandboxError> {
    close_strays()?;
    let cgroup = Cgroup::enter(sandbox.limits);
    let namespaces = make_namespaces()?;
    privileges::keep_through_exec()?;
    let mut signals = listen()?;
    let (mut said, status) = io::pipe().map_err(SandboxError::failed("no pipe can be made"))?;
    fcntl_setfd(&status, FdFlags::empty()).map_err(SandboxError::failed("no pipe can be handed down"))?;
    let inner = Inner { sandbox, namespaces, in_cgroup: cgroup.is_some(), status: status.as_raw_fd() };
    let inner = serde_json::to_string(&inner).map_err(|_| SandboxError::NoCall)?;
    let mut command = Command::new(this_program());
    command.arg0("checkrein").arg(SANDBOXED).arg(inner);
    if !argv.is_empty() {
        command.arg("--").args(argv);
    }
    let child = command.spawn().map_err(SandboxError::failed("no process can be started in the sandbox"))?;
    drop(status);
    let child = Pid::from_child(&child);
    let exit = tend(&mut signals, child, |signal| {
        let _ = kill_process(child, signal);
    });
    Ok(ending_signal(&mut said).map_or(exit, Exit::Signal))
}

/// Descriptors that were handed down from wherever this began lead to files outside.
fn close_strays() -> Result<(), SandboxError> {
    let listed = fs::read_dir("/proc/self/fd").map_err(SandboxError::failed("`/proc` cannot be read"))?;
    let numbers: Vec<RawFd> =
        listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // One of them was that of the list and is closed already.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}

/// Makes namespaces of mounts, processes and their communication for the next child. Who is no administrator
/// needs one of users too, in which everybody is who they were.
fn make_namespaces() -> Result<Namespaces, SandboxError> {
    let no_namespaces = |error: nix::Error| SandboxError::NoNamespaces { source: error.into() };
    let flags = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    if privileges::may_mount() {
        unshare(flags).map_err(no_namespaces)?;
        return Ok(Namespaces::Privileged);
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(flags | CloneFlags::CLONE_NEWUSER).map_err(no_namespaces)?;
    let map = |name: &str, text: String| {
        fs::write(format!("/proc/self/{name}"), text).map_err(|source| SandboxError::NoNamespaces { source })
    };
    map("setgroups", "deny".to_owned())?;
    map("uid_map", format!("{user} {user} 1"))?;
    map("gid_map", format!("{group} {group} 1"))?;
    Ok(Namespaces::User)
}

/// The first process of a namespace cannot end by a signal of its own, so it says by which it should have.
fn ending_signal(said: &mut PipeReader) -> Option<i32> {
    let mut number = [0];
    said.read_exact(&mut number).ok()?;
    let [number] = number;
    Some(number.into())
}

/// Ends as the command did, by its code or by its signal.
fn leave(exit: Exit) -> ExitCode {
    let number = match exit {
        Exit::Code(code) => return ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Exit::Signal(number) => number,
    };
    // If there is something to be learnt from memory, then from the command's.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = signal_hook::low_level::emulate_default_handler(number);
    // It is one of those that nobody knows.
    ExitCode::from(u8::try_from(128 + number).unwrap_or(1))
}
