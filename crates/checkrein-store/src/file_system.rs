//! What lies under a directory: the kind of file system, and how much room is left.

use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name where it is known, else `unknown`.
    pub kind: &'static str,
    /// Shared with other machines, where the store's log is not safe.
    pub network: bool,
    /// Perhaps shared with other machines: its kind does not say.
    pub unclear: bool,
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
    /// What is behind it can be anything.
    Unclear,
}

/// The number the kernel gives, as it is in every width of the field.
#[rustfmt::skip]
const KINDS: [(u32, &str, Nature); 24] = [
    (0x0000_ef53, "ext4",     Nature::Local),
    (0x5846_5342, "xfs",      Nature::Local),
    (0x9123_683e, "btrfs",    Nature::Local),
    (0x2fc1_2fc1, "zfs",      Nature::Local),
    (0xf2f5_2010, "f2fs",     Nature::Local),
    (0x794c_7630, "overlay",  Nature::Local),
    (0x0000_4d44, "fat",      Nature::Local),
    (0x2011_bab0, "exfat",    Nature::Local),
    (0x7366_746e, "ntfs",     Nature::Local),
    (0xca45_1a4e, "bcachefs", Nature::Local),
    (0x3153_464a, "jfs",      Nature::Local),
    (0x0000_3434, "nilfs",    Nature::Local),
    (0x0000_f15f, "ecryptfs", Nature::Local),
    (0x0102_1994, "tmpfs",    Nature::Volatile),
    (0x8584_58f6, "ramfs",    Nature::Volatile),
    (0x0000_6969, "nfs",      Nature::Network),
    (0x0000_517b, "smb",      Nature::Network),
    (0xfe53_4d42, "smb2",     Nature::Network),
    (0xff53_4d42, "cifs",     Nature::Network),
    (0x5346_414f, "afs",      Nature::Network),
    (0x00c3_6400, "ceph",     Nature::Network),
    (0x0bd0_0bd0, "lustre",   Nature::Network),
    (0x6573_5546, "fuse",     Nature::Unclear),
    (0x0102_1997, "9p",       Nature::Unclear),
];

impl FileSystem {
    pub fn of(directory: &Path) -> Option<FileSystem> {
        let room = rustix::fs::statvfs(directory).ok()?;
        let (kind, nature) = kind(directory);
        Some(FileSystem {
            kind,
            network: nature == Nature::Network,
            unclear: nature == Nature::Unclear,
            volatile: nature == Nature::Volatile,
            free_bytes: room.f_bavail.saturating_mul(room.f_frsize),
        })
    }
}

#[cfg(target_os = "linux")]
fn kind(directory: &Path) -> (&'static str, Nature) {
    named(rustix::fs::statfs(directory).ok().map(|found| found.f_type as u32))
}

#[cfg(target_os = "linux")]
fn named(number: Option<u32>) -> (&'static str, Nature) {
    let known = KINDS.iter().find(|(known, ..)| number == Some(*known));
    known.map_or(("unknown", Nature::Unclear), |(_, name, nature)| (*name, *nature))
}

/// No kind is known there, so an unknown one is nothing to warn of.
#[cfg(not(target_os = "linux"))]
fn kind(_: &Path) -> (&'static str, Nature) {
    ("unknown", Nature::Local)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_a_kind_that_is_known_is_trusted() {
        for (number, name, nature) in [
            (0x0000_ef53, "ext4", Nature::Local),
            (0x0000_6969, "nfs", Nature::Network),
            (0x6573_5546, "fuse", Nature::Unclear),
            (0x0102_1997, "9p", Nature::Unclear),
            (0x1234_5678, "unknown", Nature::Unclear),
        ] {
            let (found, as_nature) = named(Some(number));
            assert!(found == name && as_nature == nature, "{number:x} is {found}");
        }
    }
}
