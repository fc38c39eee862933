//! Whether a process is there: it has a lock among the files of its host.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Takes the lock of this process. Without one others wait until its leases run out.
pub(super) fn take(directory: &Path, worker: &str) -> Option<File> {
    let path = file(directory, worker);
    let parent = path.parent()?;
    DirBuilder::new().recursive(true).mode(0o700).create(parent).ok()?;
    forget_dead(parent);
    let file = File::options().create(true).truncate(false).write(true).open(&path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

pub(super) fn give_up(directory: &Path, worker: &str) {
    let _ = std::fs::remove_file(file(directory, worker));
}

/// Whether a process of this host is there.
pub(super) fn is_there(directory: &Path, worker: &str) -> bool {
    is_locked(&file(directory, worker))
}

fn file(directory: &Path, worker: &str) -> PathBuf {
    directory.join("workers").join(worker)
}

fn is_locked(path: &Path) -> bool {
    File::options().write(true).open(path).is_ok_and(|file| file.try_lock().is_err())
}

/// What processes that were killed left.
fn forget_dead(directory: &Path) {
    let old = |path: &Path| {
        let changed = std::fs::metadata(path).and_then(|found| found.modified());
        changed.is_ok_and(|at| at.elapsed().is_ok_and(|past| past.as_secs() > 60))
    };
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if old(&entry.path()) && !is_locked(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
