//! What is mounted, as `/proc/self/mountinfo` tells it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use super::error::SandboxError;

/// One mount, visible or covered by a later one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub id: u64,
    /// The numbers of its file system's device.
    pub device: String,
    /// The directory of its file system that is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    pub read_only: bool,
    /// What a change must leave as it is.
    pub flags: MountFlags,
}

/// Everything, in the order it was mounted.
pub(super) fn read() -> Result<Vec<Mount>, SandboxError> {
    let path = Path::new("/proc/self/mountinfo");
    let bytes = std::fs::read(path).map_err(SandboxError::at(path, "cannot be read"))?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mounts: Option<Vec<Mount>> = lines.map(parse).collect();
    mounts.ok_or_else(|| SandboxError::Refused { path: path.to_owned(), why: "is not understood" })
}

/// The other places where a path, or something in it, can be found because its file system is mounted more
/// than once.
pub(super) fn elsewhere(mounts: &[Mount], path: &Path) -> Vec<PathBuf> {
    let holding = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    // Of two at the same point the later one is seen.
    let Some(own) = holding.max_by_key(|mount| mount.point.components().count()) else { return Vec::new() };
    let Ok(rest) = path.strip_prefix(&own.point) else { return Vec::new() };
    let inside = join(&own.root, rest);
    let others = mounts.iter().filter(|other| other.device == own.device);
    let found = others.filter_map(|other| match inside.strip_prefix(&other.root) {
        Ok(rest) => Some(join(&other.point, rest)),
        Err(_) => other.root.starts_with(&inside).then(|| other.point.clone()),
    });
    found.filter(|other| !other.starts_with(path)).collect()
}

/// Unlike `Path::join` this leaves no slash behind.
fn join(base: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { base.to_owned() } else { base.join(rest) }
}

/// Reads a line such as `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`.
fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let device = String::from_utf8(fields.nth(1)?.to_vec()).ok()?;
    let (root, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
    let options = str::from_utf8(fields.next()?).ok()?;
    let mut mount = Mount { id, device, root, point, read_only: false, flags: MountFlags::empty() };
    for option in options.split(',') {
        match option {
            "ro" => mount.read_only = true,
            "nosuid" => mount.flags |= MountFlags::NOSUID,
            "nodev" => mount.flags |= MountFlags::NODEV,
            "noexec" => mount.flags |= MountFlags::NOEXEC,
            _ => {}
        }
    }
    Some(mount)
}

/// Spaces and the like stand there as three digits, to the base of eight.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                after
            }
            _ => {
                bytes.push(*first);
                tail
            }
        };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(lines: &[&str]) -> Vec<Mount> {
        lines.iter().map(|line| parse(line.as_bytes()).unwrap()).collect()
    }

    #[test]
    fn a_line_is_understood() {
        let line =
            br"36 35 98:0 /a\134b /mnt\040\342\202\254/x ro,nosuid,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(
            parse(line).unwrap(),
            Mount {
                id: 36,
                device: "98:0".to_owned(),
                root: r"/a\b".into(),
                point: "/mnt €/x".into(),
                read_only: true,
                flags: MountFlags::NOSUID,
            }
        );
        assert_eq!(parse(b"36 35 98:0"), None);
    }

    #[test]
    fn this_machine_has_a_root() {
        assert!(read().unwrap().iter().any(|mount| mount.point == Path::new("/")));
    }

    #[test]
    fn the_same_directory_is_found_under_its_other_names() {
        let mounts = mounts(&[
            "1 0 8:1 / / rw - ext4 a rw",
            "2 1 8:2 /@home /home rw - btrfs b rw",
            "3 1 8:2 / /mnt/all rw - btrfs b rw",
            "4 1 8:2 /@home/ann/.checkrein/jobs /srv/jobs rw - btrfs b rw",
            "5 1 8:2 /@home/ben /ben rw - btrfs b rw",
            "6 2 8:2 /@home/ann/.checkrein/runs /home/ann/.checkrein/again rw - btrfs b rw",
        ]);
        for (path, expected) in [
            ("/home/ann/.checkrein", &["/mnt/all/@home/ann/.checkrein", "/srv/jobs"][..]),
            ("/home/ben", &["/mnt/all/@home/ben", "/ben"]),
            ("/home/ben/.ssh", &["/mnt/all/@home/ben/.ssh", "/ben/.ssh"]),
            ("/run", &[]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(elsewhere(&mounts, Path::new(path)), expected, "{path}");
        }
    }
}
