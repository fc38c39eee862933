//! What only Linux offers. Elsewhere an attempt is looked after with less: by looking now and then
//! whether it is still there, and without those of its processes that left its group.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;

use rustix::process::Pid;

/// Makes orphans below this process its children, so that none is lost, if it could find them at all.
#[cfg(target_os = "linux")]
pub(super) fn adopt_orphans() -> io::Result<()> {
    super::descendants::check()?;
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Becomes readable when the process ends.
#[cfg(target_os = "linux")]
pub(super) fn exit_notice(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn exit_notice(_: Pid) -> Option<OwnedFd> {
    None
}

/// A file without a name that holds the text, to be read from its beginning.
pub(super) fn file_of(text: &str) -> io::Result<File> {
    let mut file = nameless()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

#[cfg(target_os = "linux")]
fn nameless() -> io::Result<File> {
    let memory = rustix::fs::memfd_create("stdin", rustix::fs::MemfdFlags::CLOEXEC)?;
    Ok(File::from(memory))
}

#[cfg(not(target_os = "linux"))]
fn nameless() -> io::Result<File> {
    tempfile::tempfile()
}
