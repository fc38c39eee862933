//! What was odd about a clone.

use std::fmt;

use crate::path::TreePath;

/// Something in a clone that was not taken as it was, or that a reviewer should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Its files were taken, its history and settings were not.
    NestedRepository {
        path: TreePath,
    },
    /// What the branch had there was kept.
    SubmoduleChanged {
        path: TreePath,
    },
    /// A name that git refuses to check out.
    ForbiddenName {
        path: TreePath,
    },
    /// A pipe, a socket or a device.
    NotAFile {
        path: TreePath,
    },
    /// Taken as a link, not followed.
    LinkLeavesTree {
        path: TreePath,
        target: TreePath,
    },
    /// What the branch had there was kept.
    TooBig {
        path: TreePath,
        size_bytes: u64,
        limit_bytes: u64,
    },
    /// The branch keeps what it had of the rest.
    TooMuch {
        left_out: usize,
        limit_bytes: u64,
    },
    /// The branch keeps what it had of the rest.
    TooManyFiles {
        left_out: usize,
        limit: usize,
    },
    TooDeep {
        path: TreePath,
    },
    /// What the branch had there was kept.
    Unreadable {
        path: TreePath,
        reason: String,
    },
    /// The files were taken, the agent's own commits were not.
    HistoryLost {
        reason: String,
    },
    /// The same, because of how much they come to.
    HistoryTooLarge {
        reason: String,
    },
    /// The agent's commits were on another branch; they were taken all the same.
    OtherBranch {
        name: String,
    },
}

impl Finding {
    /// Whether there was more than can be taken: a person has to look before the agent goes on.
    pub const fn is_oversized(&self) -> bool {
        matches!(
            self,
            Finding::TooMuch { .. } | Finding::TooManyFiles { .. } | Finding::HistoryTooLarge { .. }
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::NestedRepository { path } => {
                write!(
                    f,
                    "`{path}` is a repository inside the clone; its files were taken, its history was not"
                )
            }
            Finding::SubmoduleChanged { path } => {
                write!(f, "submodule `{path}` has files in it; they were not taken, it stays at its commit")
            }
            Finding::ForbiddenName { path } => write!(f, "`{path}` was not taken: git refuses that name"),
            Finding::NotAFile { path } => {
                write!(f, "`{path}` was not taken: it is neither file, link nor directory")
            }
            Finding::LinkLeavesTree { path, target } => {
                write!(f, "link `{path}` points out of the repository, to `{target}`; it was not followed")
            }
            Finding::TooBig { path, size_bytes, limit_bytes } => {
                write!(f, "`{path}` was not taken: {size_bytes} bytes, at most {limit_bytes} are")
            }
            Finding::TooMuch { left_out, limit_bytes } => {
                write!(f, "{left_out} files were not taken: together they add more than {limit_bytes} bytes")
            }
            Finding::TooManyFiles { left_out, limit } => {
                write!(f, "{left_out} files or directories were not taken: at most {limit} are")
            }
            Finding::TooDeep { path } => write!(f, "`{path}` was not taken: its path is too long"),
            Finding::Unreadable { path, reason } => write!(f, "`{path}` could not be read: {reason}"),
            Finding::HistoryLost { reason } | Finding::HistoryTooLarge { reason } => {
                write!(f, "the agent's own commits were not taken, its files were: {reason}")
            }
            Finding::OtherBranch { name } => write!(f, "the agent committed on `{name}`; that was taken"),
        }
    }
}
