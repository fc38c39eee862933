//! The processes of this machine and who descends from whom, as `/proc` tells it.

use std::collections::{BTreeSet, HashMap};
use std::{fs, io};

use rustix::process::{Pid, Signal};

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    /// Dead, and waits to be collected by its parent. Its first thread may also just have left before the
    /// others, so it is not to be overlooked by a signal.
    pub zombie: bool,
}

/// Everything that runs at this moment, or did just now.
pub(super) fn processes() -> io::Result<Vec<Process>> {
    check()?;
    let names = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let pids = names.filter_map(|name| Pid::from_raw(name.parse().ok()?));
    Ok(pids.filter_map(look).collect())
}

/// Whether they can be listed. In a namespace with the `/proc` of another one, the numbers there are those
/// of strangers.
pub(super) fn check() -> io::Result<()> {
    if fs::read_link("/proc/self")?.to_str() == Some(&own().to_string()) {
        return Ok(());
    }
    Err(io::Error::other("/proc shows the processes of another namespace"))
}

/// One of them, if it is there.
pub(super) fn look(pid: Pid) -> Option<Process> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// This process.
pub(super) fn own() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// Children, grandchildren and so on of any of the ancestors, without them.
pub(super) fn descendants(all: &[Process], ancestors: impl IntoIterator<Item = i32>) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut left: Vec<i32> = ancestors.into_iter().collect();
    let mut found = Vec::new();
    while let Some(pid) = left.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            left.push(child.pid);
            found.push(child);
        }
    }
    found
}

/// Sends a signal to everything below this process.
pub(super) fn signal_descendants(signal: Signal) {
    let own = own();
    let found = descendants(&processes().unwrap_or_default(), [own]);
    // INVARIANT: this process leads a session of its own, so a group below it has no outsiders. A group
    // is reached as a whole, with the children it has by now; one by one they could run away by forking.
    let groups: BTreeSet<i32> = found.iter().map(|process| process.group).collect();
    for group in groups.into_iter().filter(|group| *group != own).filter_map(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
    for process in found.iter().filter(|process| process.group == own) {
        if let Some(pid) = Pid::from_raw(process.pid) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

/// Those below this process that are still alive.
pub(super) fn survivors() -> Vec<i32> {
    let found = descendants(&processes().unwrap_or_default(), [own()]);
    found.iter().filter(|process| !process.zombie).map(|process| process.pid).collect()
}

/// Reads a line of `stat`.
fn parse(stat: &str) -> Option<Process> {
    // The name stands in parentheses and may itself have some.
    let (pid, rest) = stat.split_once(' ')?;
    let (_, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let zombie = matches!(fields.next()?, "Z" | "X" | "x");
    let mut number = || fields.next()?.parse::<i32>().ok();
    Some(Process { pid: pid.parse().ok()?, parent: number()?, group: number()?, zombie })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_pretend_to_be_more() {
        for (stat, expected) in [
            ("7 (sh) S 1 7 7 0 -1", Some(Process { pid: 7, parent: 1, group: 7, zombie: false })),
            ("7 (a) Z 9 (b) R 2 3 7 0", Some(Process { pid: 7, parent: 2, group: 3, zombie: false })),
            ("7 (sh) Z 1 7 7 0 -1", Some(Process { pid: 7, parent: 1, group: 7, zombie: true })),
            ("7 (sh", None),
            ("", None),
        ] {
            assert_eq!(parse(stat), expected, "{stat}");
        }
    }

    #[test]
    fn descendants_are_found_through_all_generations() {
        let row = |(pid, parent)| Process { pid, parent, group: 1, zombie: false };
        let all: Vec<Process> =
            [(1, 0), (5, 1), (3, 5), (9, 3), (8, 1), (2, 9), (4, 4)].into_iter().map(row).collect();
        let mut found: Vec<i32> = descendants(&all, [5]).iter().map(|process| process.pid).collect();
        found.sort_unstable();
        assert_eq!(found, [2, 3, 9]);
    }

    #[test]
    fn this_process_is_among_all() {
        assert!(processes().unwrap().iter().any(|process| process.pid == own()));
    }
}
