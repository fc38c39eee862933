//! The processes of the sandbox, and what else a kernel shows beside them.

use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount_bind};

use super::error::SandboxError;
use super::mounting::{EMPTY, remount_read_only};

/// What root may write even without capabilities: by some of it programs are run outside.
const SETTINGS: [&str; 9] = ["acpi", "asound", "bus", "driver", "fs", "irq", "scsi", "sys", "sysrq-trigger"];

/// Mounts `/proc` for the namespace this process is the first of.
pub(super) fn mount() -> Result<(), SandboxError> {
    let root = Path::new("/proc");
    let flags = EMPTY | MountFlags::NOEXEC;
    rustix::mount::mount("proc", root, "proc", flags, None).map_err(SandboxError::at(
        root,
        "cannot be mounted anew, as in a container that hides parts of it",
    ))?;
    for path in SETTINGS.map(|name| root.join(name)).into_iter().filter(|path: &PathBuf| path.exists()) {
        mount_bind(&path, &path).map_err(SandboxError::at(&path, "cannot be made read-only"))?;
        remount_read_only(&path, flags)?;
    }
    Ok(())
}
