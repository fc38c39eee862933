//! Whether this process belongs to an attempt, whatever its environment says.

use super::SUPERVISE;

/// Deeper trees are not looked through.
const DEPTH_MAX: usize = 256;

/// Whether a supervisor is above this process. What an attempt leaves behind is adopted by its
/// supervisor, so forking away does not help.
pub fn is_supervised() -> bool {
    let mut pid = std::process::id();
    for _ in 0..DEPTH_MAX {
        let Some(parent) = parent(pid).filter(|parent| *parent > 1) else { return false };
        if is_supervisor(parent) {
            return true;
        }
        pid = parent;
    }
    false
}

fn parent(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

fn is_supervisor(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1).is_some_and(|argument| argument == SUPERVISE.as_bytes())
}
