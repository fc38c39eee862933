//! A control group for all processes of an attempt, where this process may make one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::limits::Limits;

/// A group this process is in; it leaves and removes it when dropped.
pub(super) struct Cgroup {
    group: PathBuf,
    /// Where it was before.
    before: PathBuf,
}

const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const PREFIX: &str = "checkrein-attempt-";

impl Cgroup {
    /// Makes a group with these limits and enters it; none where that may not be.
    pub fn enter(limits: Limits) -> Option<Cgroup> {
        let root = MOUNTS.iter().map(Path::new).find(|root| root.join("cgroup.controllers").exists())?;
        let listed = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = listed.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let before = if own.is_empty() { root.to_owned() } else { root.join(own) };
        let group = above(root, &before).find_map(|parent| make(parent, limits).ok())?;
        let entered = Cgroup { group, before };
        // Where this fails, dropping it takes it away again.
        fs::write(entered.group.join("cgroup.procs"), "0").ok()?;
        Some(entered)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::write(self.before.join("cgroup.procs"), "0");
        let _ = fs::remove_dir(&self.group);
    }
}

/// Where a group can be made: below this process, or beside it in a unit of systemd that is divided, if there memory and
/// processes are limited. Elsewhere beside it is where others have theirs.
fn above<'a>(root: &'a Path, own: &'a Path) -> impl Iterator<Item = &'a Path> {
    let beside = own.parent().filter(|parent| {
        let unit = parent.extension().is_some_and(|kind| kind == "service" || kind == "scope");
        unit && parent.starts_with(root)
    });
    std::iter::once(own).chain(beside).filter(|parent| {
        let enabled = fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
        ["memory", "pids"].iter().all(|wanted| enabled.split_whitespace().any(|name| name == *wanted))
    })
}

fn make(parent: &Path, limits: Limits) -> io::Result<PathBuf> {
    sweep(parent);
    let group = parent.join(format!("{PREFIX}{}", std::process::id()));
    fs::create_dir(&group)?;
    let written = fs::write(group.join("memory.max"), limits.memory_bytes.to_string())
        .and_then(|()| fs::write(group.join("pids.max"), limits.processes.to_string()));
    if written.is_err() {
        let _ = fs::remove_dir(&group);
    }
    written.map(|()| group)
}

/// Groups of attempts that were killed are empty, and only those can be removed.
fn sweep(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let _ = fs::remove_dir(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of groups as a kernel shows it.
    fn tree(enabled: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (group, controllers) in enabled {
            let group = root.path().join(group);
            fs::create_dir_all(&group).unwrap();
            fs::write(group.join("cgroup.subtree_control"), controllers).unwrap();
        }
        root
    }

    #[test]
    fn a_group_is_made_where_memory_and_processes_are_limited() {
        for (enabled, own, expected) in [
            (&[("", "cpu memory pids")][..], "", Some("")),
            (&[("", "cpu memory"), ("a.service", "memory pids")], "a.service/b", Some("a.service")),
            (&[("a.slice", "memory pids")], "a.slice/b.service", None),
            (&[("a", "pids memory"), ("a/b", "memory pids")], "a/b", Some("a/b")),
            (&[("", "memory pids"), ("a", "cpu"), ("a/b", "")], "a/b", None),
            (&[("a/b", "memorypids pids")], "a/b", None),
        ] {
            let root = tree(enabled);
            let own = if own.is_empty() { root.path().to_owned() } else { root.path().join(own) };
            let found = above(root.path(), &own).next().map(Path::to_owned);
            assert_eq!(
                found,
                expected.map(|group| root.path().join(group)).map(|path| path.components().collect()),
                "{enabled:?}"
            );
        }
    }

    #[test]
    fn a_group_has_the_limits_and_takes_the_place_of_what_was_left() {
        let root = tree(&[("", "memory pids")]);
        let left = root.path().join(format!("{PREFIX}1"));
        fs::create_dir(&left).unwrap();
        let group = make(root.path(), Limits { memory_bytes: 5, processes: 6 }).unwrap();
        let read = |name: &str| fs::read_to_string(group.join(name)).unwrap();
        assert_eq!((read("memory.max").as_str(), read("pids.max").as_str()), ("5", "6"));
        assert!(!left.exists());
    }
}
