//! What a run is about where nobody says: the branch that is checked out.

use std::path::Path;
use std::process::{Command, Stdio};

/// The branch of the repository around a directory; none outside of one, or on no branch.
pub fn git_branch(directory: &Path) -> Option<String> {
    let git = Command::new("git")
        .args(["symbolic-ref", "--quiet", "--short", "HEAD"])
        .current_dir(directory)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let branch = String::from_utf8(git.ok().filter(|git| git.status.success())?.stdout).ok()?;
    let branch = branch.trim();
    (!branch.is_empty()).then(|| branch.to_owned())
}
