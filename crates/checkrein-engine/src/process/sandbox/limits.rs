//! How much memory and how many processes a command may have, and by what that is kept.

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub(super) use linux::limit;

/// What one attempt may have at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory_bytes: 8 << 30, processes: 4096 }
    }
}

/// By what the limits are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limiting {
    pub memory: MemoryLimit,
    pub processes: ProcessLimit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryLimit {
    /// All processes of an attempt together.
    Cgroup,
    /// Each process by itself.
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessLimit {
    Cgroup,
    /// By the numbers there are for them in the sandbox.
    Namespace,
    /// By what the user may have there.
    User,
    /// Root is not limited by that.
    None,
}

impl fmt::Display for Limiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.memory {
            MemoryLimit::Cgroup => "memory limited by a cgroup",
            MemoryLimit::Process => "memory limited for each process",
        })?;
        f.write_str(match self.processes {
            ProcessLimit::Cgroup => ", processes by the same",
            ProcessLimit::Namespace => ", processes by their namespace",
            ProcessLimit::User => ", processes by their user",
            ProcessLimit::None => ", processes not limited",
        })
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::path::Path;

    use rustix::process::{Resource, Rlimit, geteuid, setrlimit};
    use rustix::system::uname;

    use super::{Limiting, Limits, MemoryLimit, ProcessLimit};
    use crate::process::sandbox::error::SandboxError;

    /// Limits this process and all it starts, where no cgroup does. Nothing can raise them again.
    pub(in crate::process::sandbox) fn limit(limits: Limits) -> Result<Limiting, SandboxError> {
        // `RLIMIT_AS` would end Node, which reserves far more than it uses; this counts what can be written.
        set(Resource::Data, "Max data size", limits.memory_bytes)?;
        set(Resource::Nproc, "Max processes", limits.processes)?;
        let processes = if limit_numbers(limits.processes) {
            ProcessLimit::Namespace
        } else if geteuid().is_root() {
            ProcessLimit::None
        } else {
            ProcessLimit::User
        };
        Ok(Limiting { memory: MemoryLimit::Process, processes })
    }

    /// Sets a limit, which `/proc` has by this name. Where whoever started this has set a lower one, that stays.
    fn set(resource: Resource, name: &str, most: u64) -> Result<(), SandboxError> {
        let most = most_of(name).map_or(most, |set| set.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(SandboxError::failed("memory and processes cannot be limited"))
    }

    /// The limit that is set already, if there is one.
    fn most_of(name: &str) -> Option<u64> {
        let limits = fs::read_to_string("/proc/self/limits").ok()?;
        limits.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().nth(1)?.parse().ok()
    }

    /// Numbers below this one are kept for the system.
    const NUMBERS_MIN: u64 = 301;

    /// From Linux 6.14 on each namespace has a greatest number of a process of its own. Before, it was the machine's.
    fn limit_numbers(most: u64) -> bool {
        let setting = Path::new("/proc/sys/kernel/pid_max");
        has_numbers_by_namespace(uname().release().to_str().unwrap_or_default())
            && fs::write(setting, most.max(NUMBERS_MIN).to_string()).is_ok()
    }

    fn has_numbers_by_namespace(release: &str) -> bool {
        let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
        match (parts.next().flatten(), parts.next().flatten()) {
            (Some(major), Some(minor)) => (major, minor) >= (6, 14),
            _ => false,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_a_kernel_that_has_them_by_namespace_is_told() {
            for (release, expected) in [
                ("6.14.0-generic", true),
                ("6.18.44", true),
                ("7.0-rc1", true),
                ("6.13.9", false),
                ("5.15.0", false),
                ("6", false),
                ("", false),
                ("x.6.14", false),
            ] {
                assert_eq!(has_numbers_by_namespace(release), expected, "{release}");
            }
        }
    }
}
