//! A directory without some of its entries.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, readlinkat, statat};

use super::error::SandboxError;
use super::mounting::{copy, make_point, mount_empty, put_link, put_tree};

/// Covers a directory by one that has the same entries, except some. One that cannot be had is left out.
pub(super) fn put_list(path: &Path, list: &OwnedFd, without: &[OsString]) -> Result<(), SandboxError> {
    let entries = Dir::read_from(list).map_err(SandboxError::at(path, "cannot be listed"))?;
    make_point(path, FileType::Directory)?;
    mount_empty(path, c"mode=0755")?;
    for entry in entries {
        let entry = entry.map_err(SandboxError::at(path, "cannot be listed"))?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." || without.iter().any(|other| other == name) {
            continue;
        }
        let Ok(stat) = statat(list, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT) else {
            continue;
        };
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            let Ok(target) = readlinkat(list, name, Vec::new()) else { continue };
            put_link(&path.join(name), Path::new(OsStr::from_bytes(target.to_bytes())))?;
        } else if let Ok(tree) = copy(list, Path::new(name)) {
            put_tree(&path.join(name), &tree)?;
        }
    }
    Ok(())
}
