//! Directories an agent can write to, as the engine reads and writes them.
//!
//! An agent can put anything under any name there: a link to a file of the person's, a pipe that nobody writes to, a
//! directory. So every access begins at a directory only the engine names and goes on by handles, without following a
//! link; only regular files are opened, and none is waited for or read without a limit. What is written is a new file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use uuid::Uuid;

/// A directory, held open.
#[derive(Debug)]
pub(crate) struct AgentDir {
    handle: OwnedFd,
    path: PathBuf,
}

impl AgentDir {
    /// A directory the engine names. Links on the way to it are the person's own; it is none itself.
    pub fn open(path: &Path) -> io::Result<AgentDir> {
        let handle = rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty())?;
        Ok(AgentDir { handle, path: path.to_owned() })
    }

    /// A directory below this one.
    pub fn below(&self, path: &Path) -> io::Result<AgentDir> {
        let mut handle = rustix::fs::openat(&self.handle, ".", DIRECTORY, Mode::empty())?;
        for name in names(path)? {
            handle = rustix::fs::openat(&handle, name, DIRECTORY, Mode::empty())?;
        }
        Ok(AgentDir { handle, path: self.path.join(path) })
    }

    /// The same, made where it is missing. Whatever else has its name is removed.
    pub fn make(&self, path: &Path) -> io::Result<AgentDir> {
        let mut made = self.below(Path::new(""))?;
        for name in names(path)? {
            made = match made.below(Path::new(name)) {
                Ok(found) => found.regain()?,
                Err(_) => made.make_fresh(name)?,
            };
        }
        Ok(AgentDir { path: self.path.join(path), ..made })
    }

    /// The same, with our permissions given back where an agent took them away.
    fn regain(self) -> io::Result<AgentDir> {
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&self.handle)?.st_mode);
        if !mode.contains(Mode::RWXU) {
            rustix::fs::fchmod(&self.handle, Mode::RWXU)?;
        }
        Ok(self)
    }

    /// A new directory that nobody has written to. Whatever had its name is removed.
    pub fn make_fresh(&self, name: &OsStr) -> io::Result<AgentDir> {
        self.discard(name)?;
        rustix::fs::mkdirat(&self.handle, name, Mode::RWXU)?;
        self.below(Path::new(name))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A regular file, to be read.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        regular(rustix::fs::openat(&self.handle, single(name)?, READ, Mode::empty()))
    }

    /// What a file holds. One that is longer is refused.
    pub fn read(&self, name: &OsStr, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.open_file(name)?.take(bytes_max.saturating_add(1)).read_to_end(&mut content)?;
        if content.len() as u64 > bytes_max {
            let text = format!("it is larger than {} MiB", bytes_max >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        Ok(content)
    }

    /// Writes a file whose name nothing has.
    pub fn create_new(&self, name: &OsStr, content: &[u8]) -> io::Result<()> {
        let file = rustix::fs::openat(&self.handle, single(name)?, CREATE, Mode::RUSR | Mode::WUSR)?;
        File::from(file).write_all(content)
    }

    /// Puts a file in the place of whatever had its name; nobody ever sees half of it, and what that was a link to is
    /// left as it is.
    pub fn replace(&self, name: &OsStr, content: &[u8]) -> io::Result<()> {
        let beside = format!(".{}-{}", single(name)?.display(), Uuid::new_v4());
        let beside = OsStr::new(&beside);
        let written = self.create_new(beside, content).and_then(|()| {
            match rustix::fs::renameat(&self.handle, beside, &self.handle, name) {
                // Nothing but a directory refuses to be replaced by a file.
                Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {
                    self.discard(name)?;
                    Ok(rustix::fs::renameat(&self.handle, beside, &self.handle, name)?)
                }
                renamed => Ok(renamed?),
            }
        });
        if written.is_err() {
            let _ = self.discard(beside);
        }
        written
    }

    /// Removes whatever has a name, with everything below it.
    pub fn discard(&self, name: &OsStr) -> io::Result<()> {
        checkrein_forge::remove_at(&self.handle, single(name)?)
    }

    /// What everything here takes on disk; counting ends where it is too much anyway.
    pub fn weigh(&self, bytes_max: u64) -> Weight {
        let mut weight = Weight::default();
        weigh(&self.handle, bytes_max, DEPTH_MAX, &mut weight);
        weight
    }
}

/// A file below a directory the engine names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentFile {
    base: PathBuf,
    below: PathBuf,
}

impl AgentFile {
    pub fn new(base: &Path, below: impl Into<PathBuf>) -> AgentFile {
        AgentFile { base: base.to_owned(), below: below.into() }
    }

    /// One that somebody else named, as the environment of an attempt does: the directory it is in is taken as it is.
    pub fn named(path: &Path) -> AgentFile {
        let base = path.parent().filter(|base| !base.as_os_str().is_empty()).unwrap_or(Path::new("."));
        AgentFile::new(base, path.file_name().unwrap_or_default())
    }

    pub fn path(&self) -> PathBuf {
        self.base.join(&self.below)
    }

    pub fn open(&self) -> io::Result<File> {
        let (directory, name) = self.place()?;
        directory.open_file(name)
    }

    /// What it holds; none where it is not there.
    pub fn read(&self, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        match self.place().and_then(|(directory, name)| directory.read(name, bytes_max)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    pub fn replace(&self, content: &[u8]) -> io::Result<()> {
        let (directory, name) = self.place()?;
        directory.replace(name, content)
    }

    pub fn remove(&self) -> io::Result<()> {
        match self.place() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            place => place.and_then(|(directory, name)| directory.discard(name)),
        }
    }

    fn place(&self) -> io::Result<(AgentDir, &OsStr)> {
        let directory = AgentDir::open(&self.base)?.below(self.below.parent().unwrap_or(Path::new("")))?;
        Ok((directory, self.below.file_name().unwrap_or_default()))
    }
}

/// What a directory takes on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub bytes: u64,
    /// It has directories so far down that nobody counted what is in them.
    pub too_deep: bool,
    /// It has directories that nobody may look into.
    pub hidden: bool,
}

/// Opens a regular file the engine names. A pipe that an attempt put in its place is not waited for.
pub fn open_regular(path: &Path) -> io::Result<File> {
    regular(rustix::fs::openat(CWD, path, READ, Mode::empty()))
}

/// The same of a file a person or their client names: a link to it is theirs.
pub(crate) fn open_followed(path: &Path) -> io::Result<File> {
    regular(rustix::fs::openat(CWD, path, READ.difference(OFlags::NOFOLLOW), Mode::empty()))
}

/// What a file is opened with so that neither a link nor a pipe in its place does any harm.
pub(crate) const WITHOUT_WAITING: i32 = OFlags::NONBLOCK.union(OFlags::NOFOLLOW).bits().cast_signed();

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);
const CREATE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// No tree that means anything is deeper; each level takes a handle.
const DEPTH_MAX: u32 = 128;
/// A file without content takes room, too.
const ENTRY_BYTES: u64 = 256;

fn regular(opened: Result<OwnedFd, Errno>) -> io::Result<File> {
    let opened = match opened {
        Ok(file) => Some(File::from(file)),
        // What the system says of a link that is not followed.
        Err(Errno::LOOP) => None,
        Err(error) => return Err(error.into()),
    };
    match opened {
        Some(file) if file.metadata()?.is_file() => Ok(file),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")),
    }
}

/// The names of a path that leads down and nowhere else.
fn names(path: &Path) -> io::Result<Vec<&OsStr>> {
    let name = |part| match part {
        Component::Normal(name) => Ok(name),
        _ => Err(io::Error::from(Errno::INVAL)),
    };
    path.components().map(name).collect()
}

fn single(name: &OsStr) -> io::Result<&OsStr> {
    match names(Path::new(name))?.as_slice() {
        [only] if *only == name => Ok(name),
        _ => Err(Errno::INVAL.into()),
    }
}

fn weigh(directory: &OwnedFd, bytes_max: u64, depth_left: u32, weight: &mut Weight) {
    let Ok(entries) = Dir::read_from(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let stat = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(error) => {
                weight.hidden |= error == Errno::ACCESS;
                continue;
            }
        };
        let blocks = u64::try_from(stat.st_blocks).unwrap_or(0);
        weight.bytes = weight.bytes.saturating_add(blocks.saturating_mul(512).max(ENTRY_BYTES));
        if weight.bytes > bytes_max {
            return;
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            continue;
        }
        if depth_left == 0 {
            weight.too_deep = true;
            return;
        }
        match rustix::fs::openat(directory, name, DIRECTORY, Mode::empty()) {
            Ok(inner) => weigh(&inner, bytes_max, depth_left - 1, weight),
            Err(Errno::ACCESS) => weight.hidden = true,
            // It is gone, or something else by now.
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
