//! The first process in the sandbox: it arranges everything, gives up its privileges, starts the command and
//! stays until that has ended. With it ends all that is left inside.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, getpgid, getpid, kill_process, kill_process_group, set_parent_process_death_signal, setsid,
};

use super::call::{Inner, parse};
use super::error::SandboxError;
use super::tend::{listen, tend};
use super::{
    Limiting, MemoryLimit, ProcessLimit, Protection, filter, landlocked, limits, mounts, privileges,
};
use crate::process::attempt::Exit;

/// Variables that lead out of the sandbox or say what is not true in it.
const LEFT_OUT: &[&str] = &[
    "CHECKREIN_TOKEN",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "GPG_AGENT_INFO",
    "KEYRING_CONTROL",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "STY",
    "TMUX",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// What the outer process starts.
pub fn sandboxed(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let exit = parse(arguments).and_then(|(inner, argv)| run(inner, argv));
    exit.unwrap_or_else(|error| error.report())
}

fn run(inner: Inner, argv: Vec<OsString>) -> Result<ExitCode, SandboxError> {
    // Whatever else this is, its mounts are those of the machine.
    if !getpid().is_init() {
        return Err(SandboxError::NoCall);
    }
    let mut signals = listen()?;
    let mut status = take_status(inner.status)?;
    die_with_the_outer_process(&status)?;
    // A terminal could be made to type for the user.
    let _ = setsid();
    let here = std::env::current_dir().map_err(SandboxError::failed("there is no working directory"))?;
    let limits = match inner.in_cgroup {
        true => Limiting { memory: MemoryLimit::Cgroup, processes: ProcessLimit::Cgroup },
        false => limits::limit(inner.sandbox.limits)?,
    };
    let writable = mounts::arrange(&inner.sandbox)?;
    // What was opened before still leads to what is masked now; so does where this process was.
    std::env::set_current_dir(&here)
        .map_err(SandboxError::at(&here, "cannot be the working directory: it is hidden here"))?;
    privileges::leave_keyring()?;
    privileges::give_up()?;
    let landlock = landlocked::restrict(&writable)?;
    filter::restrict()?;
    let Some((program, arguments)) = argv.split_first() else {
        let protection = Protection { namespaces: inner.namespaces, landlock, limits };
        println!("{}", serde_json::to_string(&protection).unwrap_or_default());
        return Ok(ExitCode::SUCCESS);
    };
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    leave_out_variables(&mut command, &writable);
    let child = command.spawn().map_err(|source| SandboxError::NotStarted {
        program: program.to_string_lossy().into_owned(),
        source,
    })?;
    let child = Pid::from_child(&child);
    match tend(&mut signals, child, |signal| pass_on(child, signal)) {
        Exit::Code(code) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(1))),
        Exit::Signal(number) => {
            let number = u8::try_from(number).unwrap_or(0);
            let _ = status.write_all(&[number]);
            Ok(ExitCode::from(number.saturating_add(128)))
        }
    }
}

/// Takes the descriptor over as one that the command will not have.
fn take_status(number: i32) -> Result<File, SandboxError> {
    let path = format!("/proc/self/fd/{number}");
    let opened = OpenOptions::new().write(true).open(path);
    let _ = nix::unistd::close(number);
    opened.map_err(SandboxError::failed("the outer process cannot be reached"))
}

/// When that is killed nobody else would end what is in here. It may be gone already.
fn die_with_the_outer_process(status: &File) -> Result<(), SandboxError> {
    let failed = SandboxError::failed::<Errno>("the outer process could not end it");
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(&failed)?;
    let mut polled = [PollFd::from_borrowed_fd(status.as_fd(), PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).map_err(&failed)?;
    let gone = polled.iter().any(|polled| polled.revents().contains(PollFlags::ERR));
    if gone { Err(failed(Errno::PIPE)) } else { Ok(()) }
}

/// To the group of the command, and to itself also if it has left its group: as a supervisor does.
fn pass_on(child: Pid, signal: Signal) {
    let _ = kill_process_group(child, signal);
    if getpgid(Some(child)) != Ok(child) {
        let _ = kill_process(child, signal);
    }
}

fn leave_out_variables(command: &mut Command, writable: &[PathBuf]) {
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    // Where that cannot be written, `/tmp` can.
    let temporary = std::env::var_os("TMPDIR").map(PathBuf::from);
    if !temporary.is_some_and(|path| writable.iter().any(|place| path.starts_with(place))) {
        command.env_remove("TMPDIR");
    }
}
