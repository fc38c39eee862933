//! Devices that every program may need, and none that leads to a disk, a terminal or a machine.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::error::SandboxError;
use super::mounting::{IN_MEMORY, copy, mount_empty, put_tree};

const NODES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
    ("pts/ptmx", "/dev/ptmx"),
];

/// Those of the machine, taken before they are covered. Making new ones is a privilege.
pub(super) struct Devices(Vec<(&'static Path, OwnedFd)>);

impl Devices {
    pub fn take() -> Result<Devices, SandboxError> {
        let mut nodes = Vec::new();
        for path in NODES.map(Path::new) {
            match copy(CWD, path) {
                Ok(node) => nodes.push((path, node)),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(SandboxError::at(path, "cannot be used")(error)),
            }
        }
        Ok(Devices(nodes))
    }

    pub fn put(&self) -> Result<(), SandboxError> {
        mount_empty(Path::new("/dev"), c"mode=0755")?;
        for (path, node) in &self.0 {
            put_tree(path, node)?;
        }
        for (target, path) in LINKS {
            let path = Path::new(path);
            symlink(target, path).map_err(SandboxError::at(path, "cannot be linked"))?;
        }
        let (memory, terminals) = (Path::new("/dev/shm"), Path::new("/dev/pts"));
        for path in [memory, terminals] {
            fs::create_dir(path).map_err(SandboxError::at(path, "cannot be made"))?;
        }
        mount_empty(memory, IN_MEMORY)?;
        // Older kernels have no terminals for a user namespace without root. Then there are none.
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        let options = c"newinstance,ptmxmode=0666,mode=620";
        match mount("devpts", terminals, "devpts", flags, options) {
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(SandboxError::at(terminals, "cannot be mounted")(error)),
        }
    }
}
