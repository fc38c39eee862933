//! The steps of which the file system is arranged.

use std::ffi::CStr;
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, fstat, statx};
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_remount, move_mount, open_tree};

use super::error::SandboxError;
use super::mountinfo::Mount;

/// What is mounted here never gives anybody rights.
pub(super) const EMPTY: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// An empty directory for everybody, in memory: no more of it than a quarter of the machine's.
pub(super) const IN_MEMORY: &CStr = c"mode=1777,size=25%";

/// A copy of the mounts at a path below a descriptor, or at that itself if the path is empty. It is not
/// mounted anywhere yet.
pub(super) fn copy(at: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW
        | OpenTreeFlags::AT_NO_AUTOMOUNT;
    let itself = path.as_os_str().is_empty();
    open_tree(at, path, if itself { flags | OpenTreeFlags::AT_EMPTY_PATH } else { flags })
}

/// Puts such a copy in its place.
pub(super) fn put_tree(path: &Path, tree: &OwnedFd) -> Result<(), SandboxError> {
    let stat = fstat(tree).map_err(SandboxError::at(path, "cannot be looked at"))?;
    make_point(path, FileType::from_raw_mode(stat.st_mode))?;
    move_mount(tree, c"", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(SandboxError::at(path, "cannot be put in its place"))
}

/// Makes something that can be mounted on where there is nothing: within what was covered before.
pub(super) fn make_point(path: &Path, kind: FileType) -> Result<(), SandboxError> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    let made = match (kind, path.parent()) {
        (FileType::Directory, _) | (_, None) => fs::create_dir_all(path),
        (_, Some(parent)) => fs::create_dir_all(parent).and_then(|()| File::create_new(path).map(drop)),
    };
    made.map_err(SandboxError::at(path, "cannot be put in its place"))
}

pub(super) fn put_link(path: &Path, target: &Path) -> Result<(), SandboxError> {
    let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
    parent.and_then(|()| symlink(target, path)).map_err(SandboxError::at(path, "cannot be put in its place"))
}

pub(super) fn mount_empty(path: &Path, options: &CStr) -> Result<(), SandboxError> {
    mount("tmpfs", path, "tmpfs", EMPTY, options).map_err(SandboxError::at(path, "cannot be covered"))
}

pub(super) fn make_read_only(mount: &Mount) -> Result<(), SandboxError> {
    if mount.read_only || !is_visible(mount) { Ok(()) } else { remount_read_only(&mount.point, mount.flags) }
}

/// Whether it can be reached at all. If it is covered by another one or closed to this process, it is so for
/// the command too.
pub(super) fn is_visible(mount: &Mount) -> bool {
    // A file server that does not answer is not asked.
    let flags = AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let seen = statx(CWD, &mount.point, flags, StatxFlags::MNT_ID);
    seen.is_ok_and(|seen| seen.stx_mnt_id == mount.id)
}

/// `flags` are those it has, which must not be lost.
pub(super) fn remount_read_only(path: &Path, flags: MountFlags) -> Result<(), SandboxError> {
    mount_remount(path, flags | MountFlags::BIND | MountFlags::RDONLY, c"")
        .map_err(SandboxError::at(path, "cannot be made read-only"))
}
