//! Removing a directory of which an agent may have taken permissions away.
//!
//! It is done by handles: no link is followed, and no depth and no number of files is too much.

use std::ffi::OsStr;
use std::fs;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Half of a clone would pass for one in which an agent deleted files, so it is moved away first. Whoever is
/// killed here leaves something nobody takes for a clone.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let away = match tempfile::Builder::new().prefix(".removing-").tempdir_in(parent) {
        Ok(place) => place.keep().join("clone"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut moved = fs::rename(path, &away);
    if moved.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
        // A directory can be moved by whoever may write in it.
        moved = enter(CWD, path.as_os_str()).map_err(io::Error::from).and_then(|_| fs::rename(path, &away));
    }
    let removed = remove_all(away.parent().unwrap_or(&away));
    match moved {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => removed,
    }
}

/// Removes whatever is there, also what an agent made hard to remove.
pub fn remove_all(path: &Path) -> io::Result<()> {
    remove_at(CWD, path.as_os_str())
}

/// Removes whatever has a name in a directory, also what an agent made hard to remove.
pub fn remove_at(directory: impl AsFd, name: &OsStr) -> io::Result<()> {
    let directory = directory.as_fd();
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        // So do systems say that it is a directory.
        Err(Errno::ISDIR | Errno::PERM | Errno::ACCESS) => {}
        Err(error) => return Err(error.into()),
    }
    let top = enter(directory, name)?;
    let mut brought_up = 0;
    while clear(&top, DEPTH_MAX, &mut |from, name| bring_up(from, name, &top, &mut brought_up))?
        == Cleared::Some
    {}
    Ok(rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)?)
}

/// Each level takes a handle; what is deeper is brought up first.
const DEPTH_MAX: u32 = 64;

#[derive(PartialEq, Eq)]
enum Cleared {
    /// There was nothing in it.
    Nothing,
    Some,
}

/// Removes what is in a directory; directories that lie too deep are handed to `bring_up`.
fn clear(
    directory: &OwnedFd,
    depth_left: u32,
    bring_up: &mut dyn FnMut(&OwnedFd, &OsStr) -> rustix::io::Result<()>,
) -> rustix::io::Result<Cleared> {
    let mut cleared = Cleared::Nothing;
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        cleared = Cleared::Some;
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(found.st_mode)
            }
            kind => kind,
        };
        if kind != FileType::Directory {
            rustix::fs::unlinkat(directory, name, AtFlags::empty())?;
            continue;
        }
        let inner = enter(directory, name)?;
        if depth_left == 0 {
            bring_up(directory, name)?;
            continue;
        }
        while clear(&inner, depth_left - 1, bring_up)? == Cleared::Some {}
        rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)?;
    }
    Ok(cleared)
}

/// Moves a directory into the topmost one, where it is met again.
fn bring_up(from: &OwnedFd, name: &OsStr, top: &OwnedFd, count: &mut u64) -> rustix::io::Result<()> {
    loop {
        *count += 1;
        match rustix::fs::renameat(from, name, top, format!(".up-{count}")) {
            // Something of the agent's has that name.
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            moved => return moved,
        }
    }
}

/// Opens a directory, with the permissions of its owner given back.
pub(super) fn enter(directory: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let directory = directory.as_fd();
    let opened = match rustix::fs::openat(directory, name, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            open_up(directory, name)?;
            rustix::fs::openat(directory, name, DIRECTORY, Mode::empty())?
        }
        opened => opened?,
    };
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        rustix::fs::fchmod(&opened, Mode::RWXU)?;
    }
    Ok(opened)
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);

/// A directory that may not be read cannot be opened to be changed, only to be named.
#[cfg(target_os = "linux")]
fn open_up(directory: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let named = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", named.as_raw_fd()), Mode::RWXU)
}

#[cfg(not(target_os = "linux"))]
fn open_up(directory: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<()> {
    rustix::fs::chmodat(directory, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}
