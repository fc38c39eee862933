//! Removing a directory of which an agent may have taken permissions away.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

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
        moved =
            fs::set_permissions(path, Permissions::from_mode(0o700)).and_then(|()| fs::rename(path, &away));
    }
    let removed = remove_all(away.parent().unwrap_or(&away));
    match moved {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => removed,
    }
}

/// Removes whatever is there, also what an agent made hard to remove.
pub fn remove_all(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        Err(error) => Err(error),
    }
}

/// Gives back the permissions that removing needs. Links are left alone.
fn open_up(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(path)? {
            open_up(&entry?.path())?;
        }
    }
    Ok(())
}
