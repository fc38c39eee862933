//! Opening what is below a directory without ever following a link, so that nothing outside is read or written.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::remove::enter;
use crate::path::TreePath;

pub(super) struct Root(OwnedFd);

pub(super) struct Found {
    pub name: Vec<u8>,
    pub kind: FileType,
    pub stat: Stat,
}

impl Root {
    /// The directory itself may not be a link either.
    pub fn open(path: &Path) -> rustix::io::Result<Root> {
        rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty()).map(Root)
    }

    /// The same where an agent may have taken our permissions away; they are given back.
    pub fn regain(path: &Path) -> rustix::io::Result<Root> {
        enter(CWD, path.as_os_str()).map(Root)
    }

    pub fn directory(&self, path: &TreePath) -> rustix::io::Result<Root> {
        let mut at: Option<OwnedFd> = None;
        for name in path.as_bytes().split(|b| *b == b'/').filter(|name| !name.is_empty()) {
            at = Some(rustix::fs::openat(at.as_ref().unwrap_or(&self.0), name, DIRECTORY, Mode::empty())?);
        }
        match at {
            Some(fd) => Ok(Root(fd)),
            None => rustix::fs::openat(&self.0, ".", DIRECTORY, Mode::empty()).map(Root),
        }
    }

    /// What is in this directory, in the order of names; an overflow where that is more than anybody needs.
    pub fn entries(&self) -> rustix::io::Result<Vec<Found>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if matches!(name.as_slice(), b"." | b"..") {
                continue;
            }
            let stat = match rustix::fs::statat(&self.0, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error),
            };
            if entries.len() >= ENTRIES_MAX {
                return Err(Errno::OVERFLOW);
            }
            entries.push(Found { name, kind: FileType::from_raw_mode(stat.st_mode), stat });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// A regular file, opened so that neither a link nor a pipe can hold us up.
    pub fn file(&self, path: &TreePath) -> rustix::io::Result<File> {
        let (directory, name) = split(path);
        let parent = self.directory(&directory)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = rustix::fs::openat(&parent.0, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(File::from(file)),
            _ => Err(Errno::INVAL),
        }
    }

    /// The content of a file up to a limit; nothing if there is more.
    pub fn read(&self, path: &TreePath, limit_bytes: u64) -> std::io::Result<Option<Vec<u8>>> {
        let mut content = Vec::new();
        self.file(path)?.take(limit_bytes.saturating_add(1)).read_to_end(&mut content)?;
        let fits = u64::try_from(content.len()).is_ok_and(|length| length <= limit_bytes);
        Ok(fits.then_some(content))
    }

    /// Where a link points to.
    pub fn link(&self, path: &TreePath) -> rustix::io::Result<Vec<u8>> {
        let (directory, name) = split(path);
        let parent = self.directory(&directory)?;
        Ok(rustix::fs::readlinkat(&parent.0, name, Vec::new())?.into_bytes())
    }

    /// A new file in the place of whatever was there; what is linked to that is left as it is.
    pub fn write(&self, path: &TreePath, content: &[u8], executable: bool) -> std::io::Result<()> {
        let (parent, name) = self.cleared(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(if executable { 0o777 } else { 0o666 });
        File::from(rustix::fs::openat(&parent.0, name, flags, mode)?).write_all(content)
    }

    /// A new link in the place of whatever was there.
    pub fn make_link(&self, path: &TreePath, target: &[u8]) -> rustix::io::Result<()> {
        let (parent, name) = self.cleared(path)?;
        rustix::fs::symlinkat(target, &parent.0, name)
    }

    /// Removes a file, and the directories that are empty without it.
    pub fn remove(&self, path: &TreePath) -> rustix::io::Result<()> {
        let (directory, name) = split(path);
        rustix::fs::unlinkat(&self.directory(&directory)?.0, name, AtFlags::empty())?;
        for directory in path.parents() {
            let directory = TreePath::new(directory);
            let (above, name) = split(&directory);
            if rustix::fs::unlinkat(&self.directory(&above)?.0, name, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// The directory of a path, made if it is missing, in which nothing has this name.
    fn cleared<'a>(&self, path: &'a TreePath) -> rustix::io::Result<(Root, &'a [u8])> {
        let (directory, name) = split(path);
        let mut parent = self.directory(&TreePath::new(Vec::new()))?;
        for part in directory.as_bytes().split(|b| *b == b'/').filter(|part| !part.is_empty()) {
            match rustix::fs::mkdirat(&parent.0, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            parent = parent.directory(&TreePath::new(part))?;
        }
        match rustix::fs::unlinkat(&parent.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            // A directory that is empty may go; one that is not stays, and the file cannot be written.
            Err(Errno::ISDIR) => rustix::fs::unlinkat(&parent.0, name, AtFlags::REMOVEDIR)?,
            Err(error) => return Err(error),
        }
        Ok((parent, name))
    }
}

const ENTRIES_MAX: usize = 1 << 19;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);

fn split(path: &TreePath) -> (TreePath, &[u8]) {
    let bytes = path.as_bytes();
    match bytes.iter().rposition(|b| *b == b'/') {
        Some(at) => {
            (TreePath::new(bytes.get(..at).unwrap_or_default()), bytes.get(at + 1..).unwrap_or_default())
        }
        None => (TreePath::new(Vec::new()), bytes),
    }
}
