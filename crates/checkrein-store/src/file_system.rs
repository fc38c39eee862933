//! What lies under a directory: the kind of file system, and how much room is left.

use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name where it is known, else `unknown`.
    pub kind: &'static str,
    /// Shared with other machines, where the store's log is not safe.
    pub network: bool,
    /// Gone after a restart.
    pub volatile: bool,
    /// What this user may still fill.
    pub free_bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nature {
    Local,
    Network,
    Volatile,
}

/// The number the kernel gives, as it is in every width of the field.
#[rustfmt::skip]
const KINDS: [(u32, &str, Nature); 15] = [
    (0x0000_ef53, "ext4",     Nature::Local),
    (0x5846_5342, "xfs",      Nature::Local),
    (0x9123_683e, "btrfs",    Nature::Local),
    (0x2fc1_2fc1, "zfs",      Nature::Local),
    (0xf2f5_2010, "f2fs",     Nature::Local),
    (0x794c_7630, "overlay",  Nature::Local),
    (0x0000_4d44, "fat",      Nature::Local),
    (0x0102_1994, "tmpfs",    Nature::Volatile),
    (0x0000_6969, "nfs",      Nature::Network),
    (0x0000_517b, "smb",      Nature::Network),
    (0xfe53_4d42, "smb2",     Nature::Network),
    (0xff53_4d42, "cifs",     Nature::Network),
    (0x5346_414f, "afs",      Nature::Network),
    (0x00c3_6400, "ceph",     Nature::Network),
    (0x0bd0_0bd0, "lustre",   Nature::Network),
];

impl FileSystem {
    pub fn of(directory: &Path) -> Option<FileSystem> {
        let room = rustix::fs::statvfs(directory).ok()?;
        let (kind, nature) = kind(directory);
        Some(FileSystem {
            kind,
            network: nature == Nature::Network,
            volatile: nature == Nature::Volatile,
            free_bytes: room.f_bavail.saturating_mul(room.f_frsize),
        })
    }
}

#[cfg(target_os = "linux")]
fn kind(directory: &Path) -> (&'static str, Nature) {
    let found = rustix::fs::statfs(directory).ok().map(|found| found.f_type as u32);
    let known = KINDS.iter().find(|(number, ..)| found == Some(*number));
    known.map_or(("unknown", Nature::Local), |(_, name, nature)| (*name, *nature))
}

#[cfg(not(target_os = "linux"))]
fn kind(_: &Path) -> (&'static str, Nature) {
    ("unknown", Nature::Local)
}
